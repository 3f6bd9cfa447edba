// What the same reads cost without rowfs: `bare_reads THREADS [URL] < LIST`.
// With a URL each line "OFFSET LENGTH" is one ranged GET by libcurl on one kept
// connection a thread; without one each line is a file that is opened and read.
// Prints one JSON object: ms from the first read to the last, bytes, reads,
// failed.
#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "storage/base/thread_pool.h"

namespace rowfs {
namespace {

struct Work {
  std::vector<std::string> lines;
  std::string url;
  std::atomic<size_t> ready{0};
  std::atomic<int64_t> begin{0};
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> failed{0};
};

int64_t Now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

size_t Count(char*, size_t size, size_t count, void* bytes) {
  *static_cast<uint64_t*>(bytes) += size * count;
  return size * count;
}

void Get(CURL* curl, Work& work, const std::string& line) {
  const size_t space = line.find(' ');
  const uint64_t offset = std::stoull(line.substr(0, space));
  const uint64_t length = std::stoull(line.substr(space + 1));
  const std::string range =
      std::to_string(offset) + "-" + std::to_string(offset + length - 1);
  uint64_t got = 0;
  curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &got);
  if (curl_easy_perform(curl) != CURLE_OK || got != length) ++work.failed;
  work.bytes += got;
}

void ReadFile(Work& work, const std::string& path) {
  static thread_local std::vector<char> buffer(1 << 20);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? -1 : 1;
  while (got > 0) {
    got = read(file, buffer.data(), buffer.size());
    if (got > 0) work.bytes += static_cast<uint64_t>(got);
  }
  if (got < 0) ++work.failed;
  if (file >= 0) close(file);
}

Status Reader(Work& work, size_t threads) {
  CURL* curl = work.url.empty() ? nullptr : curl_easy_init();
  if (curl != nullptr) {
    curl_easy_setopt(curl, CURLOPT_URL, work.url.c_str());
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Count);
    // The connection is there before the clock runs.
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    curl_easy_perform(curl);
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
  }
  ++work.ready;
  while (work.ready < threads) usleep(50);
  int64_t unset = 0;
  work.begin.compare_exchange_strong(unset, Now());
  for (size_t i = work.next++; i < work.lines.size(); i = work.next++) {
    if (curl != nullptr) {
      Get(curl, work, work.lines[i]);
    } else {
      ReadFile(work, work.lines[i]);
    }
  }
  if (curl != nullptr) curl_easy_cleanup(curl);
  return {};
}

int Run(size_t threads, const std::string& url) {
  Work work;
  work.url = url;
  for (std::string line; std::getline(std::cin, line);) {
    work.lines.push_back(line);
  }
  curl_global_init(CURL_GLOBAL_ALL);
  const std::vector<std::function<Status()>> tasks(
      threads, [&] { return Reader(work, threads); });
  ThreadPool pool(threads, threads);
  const Status status = RunAll(pool, tasks);
  std::printf(
      "{\"ms\": %.2f, \"bytes\": %llu, \"reads\": %zu, \"failed\": %llu}\n",
      static_cast<double>(Now() - work.begin) / 1e6,
      static_cast<unsigned long long>(work.bytes), work.lines.size(),
      static_cast<unsigned long long>(work.failed));
  return status.ok() && work.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rowfs

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return rowfs::Run(std::stoull(argv[1]), argc > 2 ? argv[2] : "");
}
