// The loops that benchmarks of mounts measure, so that the loop costs less than
// the mount. One JSON object on standard output; exit code 1 on any error.
//
//   mount_ops stat  DIR LIST             lstat every path of LIST, in order
//   mount_ops read  DIR LIST N THREADS   open, read all of, close N random ones
//   mount_ops pread FILE N BYTES         N random preads of aligned BYTES
//   mount_ops map   FILE                 touch a shared mapping in order
//   mount_ops map4k FILE N               touch N random bytes of it
//   mount_ops sink  SECONDS              read standard input, so long at most
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void Die(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): nothing to clean up
}

void Report(Clock::time_point begin, uint64_t count, uint64_t bytes) {
  std::printf("{\"seconds\": %.6f, \"count\": %llu, \"bytes\": %llu}\n",
              Since(begin), static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(bytes));
}

std::vector<std::string> ReadLines(const char* path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (lines.empty()) Die(path);
  return lines;
}

uint64_t ReadAll(const std::string& path, std::vector<char>* buffer) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) Die(path);
  uint64_t bytes = 0;
  ssize_t got = 0;
  while ((got = read(file, buffer->data(), buffer->size())) > 0) {
    bytes += static_cast<uint64_t>(got);
  }
  if (got < 0) Die(path);
  close(file);
  return bytes;
}

void StatAll(const std::vector<std::string>& paths) {
  const auto begin = Clock::now();
  uint64_t bytes = 0;
  for (const std::string& path : paths) {
    struct stat status = {};
    if (lstat(path.c_str(), &status) != 0) Die(path);
    bytes += static_cast<uint64_t>(status.st_size);
  }
  Report(begin, paths.size(), bytes);
}

void ReadRandom(const std::vector<std::string>& paths, uint64_t count,
                uint64_t threads) {
  std::vector<uint64_t> bytes(threads);
  std::vector<std::thread> readers;
  const auto begin = Clock::now();
  for (uint64_t t = 0; t < threads; ++t) {
    readers.emplace_back([&, t] {
      std::mt19937_64 random(t + 1);
      std::vector<char> buffer(1 << 20);
      for (uint64_t i = 0; i < count / threads; ++i) {
        bytes[t] += ReadAll(paths[random() % paths.size()], &buffer);
      }
    });
  }
  uint64_t all = 0;
  for (uint64_t t = 0; t < threads; ++t) {
    readers[t].join();
    all += bytes[t];
  }
  Report(begin, count / threads * threads, all);
}

void PreadRandom(const char* path, uint64_t count, uint64_t block) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0) Die(path);
  const uint64_t blocks = static_cast<uint64_t>(status.st_size) / block;
  std::mt19937_64 random(1);
  std::vector<char> buffer(block);
  const auto begin = Clock::now();
  for (uint64_t i = 0; i < count; ++i) {
    const auto at = static_cast<off_t>(random() % blocks * block);
    if (pread(file, buffer.data(), block, at) != static_cast<ssize_t>(block)) {
      Die(path);
    }
  }
  Report(begin, count, count * block);
}

// `count` 0: every word, in order.
void Touch(const char* path, uint64_t count) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0) Die(path);
  const auto size = static_cast<uint64_t>(status.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) Die(path);
  const auto* bytes = static_cast<const volatile unsigned char*>(mapped);
  std::mt19937_64 random(1);
  uint64_t sum = 0;
  const auto begin = Clock::now();
  for (uint64_t i = 0; i < count; ++i) sum += bytes[random() % size];
  for (uint64_t i = 0; count == 0 && i < size; i += 64) sum += bytes[i];
  Report(begin, count, sum == 1 ? size - 1 : size);  // keeps the loop
}

void Sink(double seconds) {
  std::vector<char> buffer(1 << 20);
  const auto begin = Clock::now();
  uint64_t bytes = 0;
  ssize_t got = 0;
  while (Since(begin) < seconds &&
         (got = read(0, buffer.data(), buffer.size())) > 0) {
    bytes += static_cast<uint64_t>(got);
  }
  if (got < 0) Die("standard input");
  Report(begin, 1, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) {
    return std::strtoull(argv[i], nullptr, 10);
  };
  if ((name == "stat" && argc == 4) || (name == "read" && argc == 6)) {
    const std::vector<std::string> paths = ReadLines(argv[3]);
    if (chdir(argv[2]) != 0) Die(argv[2]);
    if (name == "stat") {
      StatAll(paths);
    } else {
      ReadRandom(paths, number(4), number(5));
    }
  } else if (name == "pread" && argc == 5) {
    PreadRandom(argv[2], number(3), number(4));
  } else if (name == "map" && argc == 3) {
    Touch(argv[2], 0);
  } else if (name == "map4k" && argc == 4) {
    Touch(argv[2], number(3));
  } else if (name == "sink" && argc == 3) {
    Sink(static_cast<double>(number(2)));
  } else {
    std::fputs("usage: see the head of mount_ops.cc\n", stderr);
    return 2;
  }
  return 0;
}
