// Damaged media and damaged indexes: a clear error or a right answer, never a
// crash.
#include <gtest/gtest.h>

#include <random>

#include "tests/index/plugins/video/harness.h"

namespace rowfs::video_test {
namespace {

struct Victim {
  const char* name;
  const char* recipe;
};

const Victim kVictims[] = {
    {"victim.mp4",
     "$FF -f lavfi -i testsrc2=size=64x48:rate=25:duration=0.6 -f lavfi -i "
     "sine=duration=0.6 -pix_fmt yuv420p -c:v libx264 -g 5 -bf 2 -c:a aac "
     "$OUT"},
    {"victim.mkv",
     "$FF -f lavfi -i testsrc2=size=64x48:rate=25:duration=0.6 -pix_fmt "
     "yuv420p -c:v libx265 -preset ultrafast -x265-params "
     "log-level=none:keyint=5 $OUT"},
    {"victim.webm",
     "$FF -f lavfi -i testsrc2=size=64x48:rate=25:duration=0.6 -c:v "
     "libvpx-vp9 -g 5 -b:v 50k -deadline realtime -cpu-used 8 $OUT"},
    {"victim.ts",
     "$FF -f lavfi -i testsrc2=size=64x48:rate=25:duration=0.6 -c:v "
     "mpeg2video -g 5 -bf 2 $OUT"},
    {"victim.avi",
     "$FF -f lavfi -i testsrc2=size=64x48:rate=25:duration=0.6 -c:v mpeg4 "
     "-g 5 -bf 2 $OUT"},
};

class HostileVideo : public ::testing::TestWithParam<Victim> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeVideo(GetParam().name, GetParam().recipe));
    file_ = ReadFile(CorpusFolder() + "/" + GetParam().name);
  }

  // Ingest whatever it is and, if that works, read some of everything.
  void Use(const Bytes& file, const IngestSpec& spec) {
    const Ingested ingested = Ingest(file, GetParam().name, spec);
    if (ingested.code != ROWFS_OK) {
      EXPECT_FALSE(ingested.error.empty());
      return;
    }
    OpenIndex index(ingested, "frames=ppm");
    ASSERT_EQ(ROWFS_OK, index.code()) << index.error();
    const std::vector<FileEntry> frames = index.List(".frames");
    ASSERT_FALSE(frames.empty());
    for (size_t i = 0; i < frames.size(); i += 4) {
      const Bytes frame = index.Read(".frames/" + frames[i].name);
      EXPECT_TRUE(frame.empty() || frame.size() == frames[i].size);
    }
    for (const FileEntry& e : index.List("")) {
      if (e.directory) continue;
      EXPECT_EQ(e.size, index.Read(e.name).size()) << e.name;
    }
    for (const FileEntry& e : index.List(".gops")) {
      EXPECT_EQ(e.size, index.Read(".gops/" + e.name).size());
    }
  }

  Bytes file_;
};

TEST_P(HostileVideo, CutOffFilesGiveAnErrorOrWhatIsThere) {
  for (size_t part = 0; part < 16; ++part) {
    const size_t size = file_.size() * part / 16 + part % 3;
    IngestSpec spec;
    spec.layout = part % 2 == 0 ? ROWFS_LAYOUT_STORED : ROWFS_LAYOUT_CONTAINER;
    Use(Bytes(file_.begin(), file_.begin() + static_cast<long>(size)), spec);
  }
}

TEST_P(HostileVideo, ChangedBytesGiveAnErrorOrFrames) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    Bytes file = file_;
    // Container structures are at both ends; the rest is packets.
    const size_t window = round % 2 == 0 ? file.size() : 2048;
    for (unsigned n = 0; n < 1 + random() % 20; ++n) {
      const size_t at = random() % std::min(window, file.size());
      file[round % 4 == 1 ? file.size() - 1 - at : at] =
          static_cast<uint8_t>(random());
    }
    IngestSpec spec;
    spec.layout = round % 3 == 0 ? ROWFS_LAYOUT_CONTAINER : ROWFS_LAYOUT_STORED;
    spec.verify = round % 3;
    spec.keep_container = round % 5 == 0;
    Use(file, spec);
  }
}

TEST_P(HostileVideo, ReadersThatFailFailTheIngest) {
  for (int fail_at : {0, 1, 2, 5}) {
    struct Context {
      const Bytes* file;
      int left;
    } context{&file_, fail_at};
    Bytes sink;
    rowfs_ingest_request r = {};
    r.struct_size = sizeof(r);
    r.input.ctx = &context;
    r.input.size = file_.size();
    r.input.read_at = [](void* ctx, uint64_t offset, uint8_t* out,
                         size_t size) -> int32_t {
      auto* c = static_cast<Context*>(ctx);
      if (c->left-- <= 0) return ROWFS_E_IO;
      std::memcpy(out, c->file->data() + offset, size);
      return 0;
    };
    r.payload = r.stream_info = r.entries = {&sink, AppendTo};
    rowfs_ingest_result result = {};
    rowfs_error error = {};
    const int32_t code = rowfs_plugin_entry()->ingest(&r, &result, &error);
    if (context.left < 0) {
      EXPECT_EQ(ROWFS_E_IO, code) << fail_at << error.message;
    }
  }
}

std::string NameOf(const ::testing::TestParamInfo<Victim>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileVideo, ::testing::ValuesIn(kVictims),
                         NameOf);

TEST(HostileDecode, BlobBytesThatChangedGiveAnErrorOrAPicture) {
  ASSERT_TRUE(MakeVideo(kVictims[0].name, kVictims[0].recipe));
  const Bytes file = ReadFile(CorpusFolder() + "/" + kVictims[0].name);
  const Ingested good = Ingest(file, kVictims[0].name, IngestSpec());
  ASSERT_EQ(ROWFS_OK, good.code) << good.error;
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    Ingested bad = good;
    for (unsigned n = 0; n < 1 + random() % 30; ++n) {
      bad.payload[random() % bad.payload.size()] =
          static_cast<uint8_t>(random());
    }
    OpenIndex index(bad, "");
    ASSERT_EQ(ROWFS_OK, index.code());
    for (const FileEntry& frame : index.List(".frames", 0, 6)) {
      const std::string path = ".frames/" + frame.name.substr(0, 6) + ".ppm";
      const uint64_t size = index.Lookup(path).at(0).size;
      const Bytes out = index.Read(path);
      EXPECT_TRUE(out.empty() || out.size() == size);
      EXPECT_EQ(out.empty(), !index.decode_error().empty());
    }
  }
}

TEST(HostileDecode, ForeignRecipesAndRangesAreRefused) {
  ASSERT_TRUE(MakeVideo(kVictims[0].name, kVictims[0].recipe));
  const Bytes file = ReadFile(CorpusFolder() + "/" + kVictims[0].name);
  OpenIndex index(Ingest(file, kVictims[0].name, IngestSpec()), "");
  ASSERT_EQ(ROWFS_OK, index.code());
  const Plan plan = index.MakePlan({".frames/000007.jpg"});
  ASSERT_EQ(1u, plan.groups.size());

  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Group group = plan.groups[0];
    if (round % 3 == 0) {
      group.recipe.resize(random() % (group.recipe.size() + 1));
    } else if (round % 3 == 1) {
      group.recipe[random() % group.recipe.size()] =
          static_cast<uint8_t>(random());
    } else {
      group.ranges[0].end -=
          random() % (group.ranges[0].end - group.ranges[0].begin);
    }
    group.items.resize(200);  // whatever number of items the recipe claims
    index.Decode(group);
  }
}

TEST(HostileDecode, EveryFlippedBitOfTheIndexIsNoticed) {
  ASSERT_TRUE(MakeVideo(kVictims[0].name, kVictims[0].recipe));
  const Bytes file = ReadFile(CorpusFolder() + "/" + kVictims[0].name);
  const Ingested good = Ingest(file, kVictims[0].name, IngestSpec());
  ASSERT_EQ(ROWFS_OK, good.code);

  std::mt19937 random(9);
  for (int round = 0; round < 500; ++round) {
    Ingested bad = good;
    Bytes& victim = round % 2 == 0 ? bad.stream_info : bad.entries;
    victim[random() % victim.size()] ^=
        static_cast<uint8_t>(1u << (random() % 8));
    OpenIndex index(bad, "");
    EXPECT_NE(ROWFS_OK, index.code());
    EXPECT_FALSE(index.error().empty());
  }
}

}  // namespace
}  // namespace rowfs::video_test
