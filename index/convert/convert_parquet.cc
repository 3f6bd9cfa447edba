#include "index/convert/convert_parquet.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "index/convert/manifest.h"
#include "index/convert/pack_folder.h"
#include "storage/base/hash.h"
#include "storage/object/local_store.h"
#include "storage/object/posix_file.h"
#include "storage/pack/pack_writer.h"
#include "storage/pack/posix_path.h"

namespace rowfs {
namespace {

namespace path = std::filesystem;

std::string Digits(uint64_t number, size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

Result<std::shared_ptr<const ObjectReader>> OpenLocal(const std::string& file) {
  return ObjectReader::Open({std::make_shared<LocalStore>(), file}, 64 << 10,
                            {});
}

bool IsBelow(const path::path& inner, const path::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end())
             .first == outer.end();
}

// Every *.parquet below `folder`, whatever it is: one that is no file fails.
void CollectTables(const path::path& folder, std::vector<std::string>* relative,
                   const std::string& above) {
  std::error_code error;
  for (path::directory_iterator entry(folder, error);
       !error && entry != path::directory_iterator(); entry.increment(error)) {
    const std::string name = above + entry->path().filename().string();
    if (name.ends_with(".parquet")) relative->push_back(name);
    std::error_code ignored;
    if (entry->symlink_status(ignored).type() == path::file_type::directory) {
      CollectTables(entry->path(), relative, name + "/");
    }
  }
}

Status CheckFields(const std::vector<FieldPath>& fields) {
  const auto is_empty = [](const FieldPath& field) {
    return field.empty() ||
           std::any_of(field.begin(), field.end(),
                       [](const std::string& name) { return name.empty(); });
  };
  if (fields.empty() || std::any_of(fields.begin(), fields.end(), is_empty)) {
    return {Code::kInvalidArgument,
            "select binary payloads with columns= or fields="};
  }
  if (std::set<FieldPath>(fields.begin(), fields.end()).size() !=
      fields.size()) {
    return {Code::kInvalidArgument, "duplicate field selection"};
  }
  return {};
}

// A folder that goes away unless it is moved to its place.
class WorkFolder {
 public:
  static Result<std::unique_ptr<WorkFolder>> Make(const std::string& target) {
    const path::path parent = path::path(target).parent_path();
    ROWFS_RETURN_IF_ERROR(MakeDirectories(parent));
    ROWFS_ASSIGN_OR_RETURN(const std::string unique, UniqueName());
    auto work = std::unique_ptr<WorkFolder>(new WorkFolder());
    work->path_ =
        parent / ("." + path::path(target).filename().string() + "." + unique);
    if (::mkdir(work->path_.c_str(), 0700) != 0) {
      return ErrnoStatus(errno, target, "make folder");
    }
    return work;
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) path::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

  Status MoveTo(const std::string& target) {
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(),
                    RENAME_NOREPLACE) != 0) {
      if (errno != EINVAL || ::rename(path_.c_str(), target.c_str()) != 0) {
        return ErrnoStatus(errno, target, "rename");
      }
    }
    path_.clear();
    return SyncDirectory(ParentOf(target));
  }

 private:
  WorkFolder() = default;
  std::string path_;
};

// One output of a conversion: the tables, one by one, and what is told of them.
class Conversion {
 public:
  Conversion(const ParquetPlan& plan, std::string folder, PackWriter& pack)
      : plan_(plan), folder_(std::move(folder)), pack_(pack) {}

  Status AddTable(size_t number) {
    const std::string& file = plan_.files[number];
    const std::string relative = file == plan_.source
                                     ? LastPart(file)
                                     : file.substr(plan_.source.size() + 1);
    LocalStore store;
    ROWFS_ASSIGN_OR_RETURN(const auto reader, OpenLocal(file));
    ROWFS_ASSIGN_OR_RETURN(
        const auto writer,
        store.Create(folder_ + "/tables/" + relative, PutMode::kOverwrite));
    const std::string prefix = Digits(number, 6) + "/";
    ROWFS_ASSIGN_OR_RETURN(
        const Bytes schema,
        ExtractBinaryFields(
            reader, plan_.fields,
            [&](size_t field, uint64_t value, ByteSpan bytes) {
              return pack_.Add(
                  prefix + Digits(field, 4) + "/" + Digits(value, 12), bytes);
            },
            [&](ByteSpan bytes) { return writer->Write(bytes); }));
    ROWFS_RETURN_IF_ERROR(writer->Finish());
    schemas_.emplace_back(relative, ToBase64(schema));
    return {};
  }

  Status WriteSummary() const {
    std::string text = PlanJson(plan_);
    text += ",\n  \"blobs\": " + std::to_string(pack_.blobs_written()) +
            ",\n  \"bytes\": " + std::to_string(pack_.bytes_written()) +
            ",\n  \"source_schemas\": {";
    for (size_t i = 0; i < schemas_.size(); ++i) {
      text += (i > 0 ? ",\n    " : "\n    ") + AsciiQuote(schemas_[i].first) +
              ": \"" + schemas_[i].second + "\"";
    }
    text += "\n  }\n}\n";
    return WriteWhole(
        {std::make_shared<LocalStore>(), folder_ + "/extraction.json"},
        AsBytes(text), PutMode::kOverwrite);
  }

 private:
  const ParquetPlan& plan_;
  const std::string folder_;
  PackWriter& pack_;
  std::vector<std::pair<std::string, std::string>> schemas_;
};

}  // namespace

Result<ParquetPlan> PlanParquet(const std::string& source,
                                std::vector<FieldPath> fields) {
  ROWFS_RETURN_IF_ERROR(CheckFields(fields));
  ParquetPlan plan;
  std::error_code error;
  plan.source = path::weakly_canonical(path::absolute(source, error), error);
  plan.fields = std::move(fields);
  if (path::is_regular_file(plan.source, error)) {
    plan.files = {plan.source};
  } else {
    std::vector<std::string> relative;
    CollectTables(plan.source, &relative, "");
    std::sort(relative.begin(), relative.end(), ComesBefore);
    for (const std::string& name : relative) {
      plan.files.push_back(plan.source + "/" + name);
    }
  }
  if (plan.files.empty()) {
    return Status(Code::kNotFound, plan.source + ": no Parquet files");
  }
  for (const std::string& file : plan.files) {
    if (!IsBelow(path::weakly_canonical(file, error), plan.source)) {
      return Status(Code::kPermissionDenied,
                    file + ": source file escapes input directory");
    }
    ROWFS_ASSIGN_OR_RETURN(const auto reader, OpenLocal(file));
    ROWFS_ASSIGN_OR_RETURN(const uint64_t rows,
                           CheckBinaryFields(reader, plan.fields));
    plan.rows += rows;
  }
  return plan;
}

Status ConvertParquet(const ParquetPlan& plan, const std::string& target,
                      int64_t pack_bytes_max, const ConvertProgress& progress) {
  std::error_code error;
  const path::path place =
      path::weakly_canonical(path::absolute(target, error), error);
  if (path::exists(place, error) || IsBelow(place, plan.source) ||
      IsBelow(plan.source, place)) {
    return {Code::kAlreadyExists,
            "destination must be new and disjoint from the source"};
  }
  ROWFS_ASSIGN_OR_RETURN(const auto work, WorkFolder::Make(place));
  PackOptions options;
  options.folder = work->path() + "/media";
  options.ref_base = "media";
  options.pack_bytes_max =
      static_cast<uint64_t>(std::max<int64_t>(pack_bytes_max, 0));
  ROWFS_ASSIGN_OR_RETURN(const auto pack, PackWriter::Open(options));
  Conversion conversion(plan, work->path(), *pack);
  for (size_t i = 0; i < plan.files.size(); ++i) {
    ROWFS_RETURN_IF_ERROR(conversion.AddTable(i));
    if (progress) progress(i + 1, plan.files.size());
  }
  ROWFS_RETURN_IF_ERROR(pack->Finish());
  ROWFS_RETURN_IF_ERROR(conversion.WriteSummary());
  return work->MoveTo(place);
}

std::string PlanJson(const ParquetPlan& plan) {
  std::string text = "{\n  \"files\": " + std::to_string(plan.files.size()) +
                     ",\n  \"rows\": " + std::to_string(plan.rows) +
                     ",\n  \"fields\": [";
  for (size_t i = 0; i < plan.fields.size(); ++i) {
    text += i > 0 ? ",\n    [" : "\n    [";
    for (size_t part = 0; part < plan.fields[i].size(); ++part) {
      text += (part > 0 ? ",\n      " : "\n      ") +
              AsciiQuote(plan.fields[i][part]);
    }
    text += "\n    ]";
  }
  return text + "\n  ]";
}

}  // namespace rowfs
