/* A plugin for tests: the smallest medium that uses the whole interface, and
 * every way to misbehave.
 *
 * A toy file is "TOY1 MODE\n" and text. Its views, beside the blob:
 *   .toy              the text again, whole (segments, no decode)
 *   .upper.txt        the text in upper case (decode, exact size)
 *   .big.bin          `size=N` bytes of config, the text repeated (decode)
 *   .letters/00000K.txt  letter K (decode; all of one plan in one group)
 *   .at/T.txt         lookup only: the letter at second T
 *   .bad/WHAT         decode does WHAT: crash, hang, socket, ...
 * Ingest does MODE, opening an index does `open=WHAT` of the config, listing
 * `.bad` does `list=WHAT`; "ok" is nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "index/abi/rowfs_plugin.h"

enum { kInfoSize = 20, kModeMax = 32, kConfigMax = 256 };
static const char kMagic[4] = {'T', 'O', 'Y', '1'};
static const char* const kBad[] = {
    "crash",   "abort",    "exit",      "hang",    "spin",    "memory",
    "oom",     "socket",   "file",      "fork",    "exec",    "signal",
    "mapexec", "threads",  "badlength", "baditem", "badnull", "partial",
    "garbage", "scribble", "flood"};

static int* volatile nowhere;

struct rowfs_index {
  uint64_t text_offset;
  uint64_t text_size;
  int has_entries;
  char config[kConfigMax];
};

static int32_t Fail(rowfs_error* error, int32_t code, const char* message) {
  snprintf(error->message, sizeof(error->message), "%s", message);
  return code;
}

static int32_t Denied(rowfs_error* error, const char* what, int worked) {
  snprintf(error->message, sizeof(error->message), "%s %s", what,
           worked ? "was allowed" : strerror(errno));
  return worked ? ROWFS_E_INTERNAL : ROWFS_E_UNSUPPORTED;
}

static void* CountToTen(void* arg) {
  int* count = arg;
  while (*count < 10) ++*count;
  return NULL;
}

static int32_t EatMemory(rowfs_error* error, int check) {
  for (;;) {
    char* block = malloc((size_t)16 << 20);
    if (block == NULL && check) {
      return Fail(error, ROWFS_E_LIMIT, "no memory left");
    }
    memset(block, 1, (size_t)16 << 20);
  }
}

/* What needs no sink. ROWFS_OK for names it does not know. */
static int32_t Misbehave(const char* what, rowfs_error* error) {
  if (strcmp(what, "crash") == 0) *nowhere = 1;
  if (strcmp(what, "abort") == 0) abort();
  if (strcmp(what, "exit") == 0) _exit(0);
  if (strcmp(what, "hang") == 0) {
    for (;;) poll(NULL, 0, 1000);
  }
  if (strcmp(what, "spin") == 0) {
    for (volatile unsigned i = 0;; ++i) continue;
  }
  if (strcmp(what, "memory") == 0) return EatMemory(error, 1);
  if (strcmp(what, "oom") == 0) return EatMemory(error, 0);
  if (strcmp(what, "socket") == 0) {
    return Denied(error, "socket", socket(AF_INET, SOCK_STREAM, 0) >= 0);
  }
  if (strcmp(what, "file") == 0) {
    return Denied(error, "open", open("/etc/passwd", O_RDONLY) >= 0);
  }
  if (strcmp(what, "fork") == 0) return Denied(error, "fork", fork() >= 0);
  if (strcmp(what, "exec") == 0) {
    execl("/bin/true", "true", (char*)NULL);
    return Denied(error, "exec", 0);
  }
  if (strcmp(what, "signal") == 0) {
    return Denied(error, "kill", kill(getppid(), 0) == 0);
  }
  if (strcmp(what, "mapexec") == 0) {
    return Denied(error, "mmap",
                  mmap(NULL, 4096, PROT_READ | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  }
  if (strcmp(what, "threads") == 0) {
    pthread_t thread;
    int count = 0;
    if (pthread_create(&thread, NULL, CountToTen, &count) != 0) {
      return Fail(error, ROWFS_E_INTERNAL, "no thread");
    }
    pthread_join(thread, NULL);
    if (count != 10) return Fail(error, ROWFS_E_INTERNAL, "no count");
  }
  if (strcmp(what, "garbage") == 0) {
    static const char junk[64] = "\xff\xff\xff\xff junk";
    for (int fd = 3; fd < 10; ++fd) (void)!write(fd, junk, sizeof(junk));
    return Fail(error, ROWFS_E_CORRUPT, "wrote junk");
  }
  return ROWFS_OK;
}

/* What misuses the output sink. */
static int32_t MisuseSink(const char* what, const rowfs_output_sink* out,
                          const rowfs_bytes* ranges, rowfs_error* error) {
  static uint8_t block[1 << 20];
  if (strcmp(what, "badlength") == 0) {
    return out->write(out->ctx, 0, block, (size_t)1 << 60);
  }
  if (strcmp(what, "baditem") == 0) return out->write(out->ctx, 99, block, 1);
  if (strcmp(what, "badnull") == 0) return out->write(out->ctx, 0, NULL, 10);
  if (strcmp(what, "partial") == 0) return ROWFS_OK;
  if (strcmp(what, "scribble") == 0) {
    union {
      const uint8_t* from;
      uint8_t* to;
    } input;
    input.from = ranges[0].data;
    memset(input.to, 0xff, (size_t)64 << 20);
  }
  if (strcmp(what, "flood") == 0) {
    for (;;) {
      const int32_t code = out->write(out->ctx, 0, block, sizeof(block));
      if (code != ROWFS_OK) return code;
    }
  }
  const int32_t code = Misbehave(what, error);
  if (code != ROWFS_OK) return code;
  return out->write(out->ctx, 0, (const uint8_t*)"survived", 8);
}

/* The value of `key` in "key=value,key=value", "" when it is not there. */
static void ConfigValue(const char* config, const char* key, char* out) {
  const size_t key_size = strlen(key);
  size_t n = 0;
  for (const char* p = config; p != NULL && *p != '\0';) {
    if (strncmp(p, key, key_size) == 0 && p[key_size] == '=') {
      p += key_size + 1;
      while (p[n] != '\0' && p[n] != ',' && n < kModeMax - 1) {
        out[n] = p[n];
        ++n;
      }
      break;
    }
    p = strchr(p, ',');
    if (p != NULL) ++p;
  }
  out[n] = '\0';
}

static int32_t Probe(rowfs_bytes head, rowfs_str file_name) {
  (void)file_name;
  rowfs_error error;
  if (head.size < 4 || memcmp(head.data, kMagic, 4) != 0) return 0;
  if (head.size >= 15 && memcmp(head.data, "TOY1 probecrash", 15) == 0) {
    Misbehave("crash", &error);
  }
  return 90;
}

static int32_t WriteIndex(const rowfs_ingest_request* request,
                          uint64_t text_offset, uint64_t text_size) {
  uint8_t info[kInfoSize];
  memcpy(info, kMagic, 4);
  memcpy(info + 4, &text_offset, 8);
  memcpy(info + 12, &text_size, 8);
  int32_t code =
      request->stream_info.write(request->stream_info.ctx, info, sizeof(info));
  if (code != ROWFS_OK) return code;
  return request->entries.write(request->entries.ctx, (const uint8_t*)"E", 1);
}

static int32_t CopyText(const rowfs_ingest_request* request, uint64_t begin) {
  static uint8_t block[65536];
  while (begin < request->input.size) {
    uint64_t size = request->input.size - begin;
    if (size > sizeof(block)) size = sizeof(block);
    int32_t code =
        request->input.read_at(request->input.ctx, begin, block, (size_t)size);
    if (code != ROWFS_OK) return code;
    code = request->payload.write(request->payload.ctx, block, (size_t)size);
    if (code != ROWFS_OK) return code;
    begin += size;
  }
  return ROWFS_OK;
}

static int32_t Ingest(const rowfs_ingest_request* request,
                      rowfs_ingest_result* result, rowfs_error* error) {
  char head[kModeMax + 1] = {0};
  size_t size = sizeof(head) - 1;
  if (request->input.size < size) size = (size_t)request->input.size;
  int32_t code =
      request->input.read_at(request->input.ctx, 0, (uint8_t*)head, size);
  if (code != ROWFS_OK) return Fail(error, code, "cannot read the head");
  char* end = strchr(head, '\n');
  if (memcmp(head, "TOY1 ", 5) != 0 || end == NULL) {
    return Fail(error, ROWFS_E_CORRUPT, "no toy header");
  }
  *end = '\0';
  code = Misbehave(head + 5, error);
  if (code != ROWFS_OK) return code;
  const uint64_t text_offset = (uint64_t)(end - head) + 1;
  uint64_t stored_offset = text_offset;
  if (request->layout == ROWFS_LAYOUT_STORED) {
    stored_offset = 0;
    code = CopyText(request, text_offset);
    if (code != ROWFS_OK) return Fail(error, code, "cannot copy the text");
    if (strcmp(head + 5, "latecrash") == 0) Misbehave("crash", error);
  }
  result->blob_type = strcmp(head + 5, "badtype") == 0 ? 77 : 1;
  return WriteIndex(request, stored_offset, request->input.size - text_offset);
}

static int32_t Open(rowfs_bytes stream_info, rowfs_bytes entries,
                    uint64_t blob_size, rowfs_str config, rowfs_index** out,
                    rowfs_error* error) {
  if (stream_info.size != kInfoSize ||
      memcmp(stream_info.data, kMagic, 4) != 0) {
    return Fail(error, ROWFS_E_CORRUPT, "not a toy index");
  }
  uint64_t offset;
  uint64_t size;
  memcpy(&offset, stream_info.data + 4, 8);
  memcpy(&size, stream_info.data + 12, 8);
  if (offset > blob_size || size > blob_size - offset) {
    return Fail(error, ROWFS_E_CORRUPT, "index points past the blob");
  }
  if (config.size >= kConfigMax) {
    return Fail(error, ROWFS_E_INVALID, "configuration is too long");
  }
  rowfs_index* index = calloc(1, sizeof(*index));
  if (index == NULL) return Fail(error, ROWFS_E_LIMIT, "no memory");
  index->text_offset = offset;
  index->text_size = size;
  index->has_entries = entries.data != NULL;
  if (config.size != 0) memcpy(index->config, config.data, config.size);
  char mode[kModeMax];
  ConfigValue(index->config, "open", mode);
  const int32_t code = Misbehave(mode, error);
  if (code != ROWFS_OK) {
    free(index);
    return code;
  }
  *out = index;
  return ROWFS_OK;
}

static void Close(rowfs_index* index) { free(index); }

static uint64_t BigSize(const rowfs_index* index) {
  char value[kModeMax];
  ConfigValue(index->config, "size", value);
  return strtoull(value, NULL, 10);
}

static int32_t Put(const rowfs_entry_sink* out, const char* name, int32_t kind,
                   uint32_t flags, uint64_t size) {
  static const rowfs_attribute kAttribute = {{"toy", 3}, {"yes", 3}};
  rowfs_entry entry;
  memset(&entry, 0, sizeof(entry));
  entry.struct_size = sizeof(entry);
  entry.kind = kind;
  entry.flags = flags;
  entry.size = size;
  entry.name.data = name;
  entry.name.size = strlen(name);
  entry.media_type.data = "text/plain";
  entry.media_type.size = 10;
  entry.attributes = &kAttribute;
  entry.attribute_count = 1;
  return out->put(out->ctx, &entry);
}

static int32_t PutTop(const rowfs_index* index, size_t i,
                      const rowfs_entry_sink* out) {
  const uint32_t exact = ROWFS_ENTRY_SIZE_EXACT;
  switch (i) {
    case 0:
      return Put(out, ".toy", ROWFS_ENTRY_FILE, exact | ROWFS_ENTRY_WHOLE,
                 index->text_size);
    case 1:
      return Put(out, ".upper.txt", ROWFS_ENTRY_FILE, exact, index->text_size);
    case 2:
      return Put(out, ".big.bin", ROWFS_ENTRY_FILE, exact, BigSize(index));
    case 3:
      return Put(out, ".letters", ROWFS_ENTRY_DIRECTORY, 0, 0);
    case 4:
      return Put(out, ".at", ROWFS_ENTRY_DIRECTORY, ROWFS_ENTRY_LOOKUP_ONLY, 0);
    default:
      return Put(out, ".bad", ROWFS_ENTRY_DIRECTORY, 0, 0);
  }
}

static int32_t PutLetter(uint64_t i, const rowfs_entry_sink* out) {
  char name[32];
  snprintf(name, sizeof(name), "%06llu.txt", (unsigned long long)i);
  return Put(out, name, ROWFS_ENTRY_FILE, ROWFS_ENTRY_SIZE_EXACT, 1);
}

static int32_t ListBad(const rowfs_index* index, uint64_t i,
                       const rowfs_entry_sink* out, rowfs_error* error) {
  char mode[kModeMax];
  ConfigValue(index->config, "list", mode);
  if (strcmp(mode, "badname") == 0) {
    return Put(out, "../escape", ROWFS_ENTRY_FILE, 0, 1);
  }
  if (strcmp(mode, "badkind") == 0) return Put(out, "x", 9, 0, 1);
  const int32_t code = Misbehave(mode, error);
  return code != ROWFS_OK ? code : Put(out, kBad[i], ROWFS_ENTRY_FILE, 0, 1);
}

static int Equal(rowfs_str text, const char* other) {
  return text.size == strlen(other) &&
         (text.size == 0 || memcmp(text.data, other, text.size) == 0);
}

static int32_t List(rowfs_index* index, rowfs_str directory, uint64_t start,
                    uint64_t limit, const rowfs_entry_sink* out,
                    rowfs_error* error) {
  const int top = Equal(directory, "");
  const int letters = Equal(directory, ".letters");
  if (!top && !index->has_entries) {
    return Fail(error, ROWFS_E_NEED_ENTRIES, "entries are needed");
  }
  if (Equal(directory, ".at")) return ROWFS_OK;
  if (!top && !letters && !Equal(directory, ".bad")) {
    return Fail(error, ROWFS_E_NOT_FOUND, "no such view");
  }
  const uint64_t count = top       ? 6
                         : letters ? index->text_size
                                   : sizeof(kBad) / sizeof(kBad[0]);
  for (uint64_t i = start; i < count && i - start < limit; ++i) {
    const int32_t code = top       ? PutTop(index, (size_t)i, out)
                         : letters ? PutLetter(i, out)
                                   : ListBad(index, i, out, error);
    if (code != ROWFS_OK) return code;
  }
  return ROWFS_OK;
}

/* Letter number of ".letters/000012.txt" or ".at/12.txt"; -1 for others. */
static int64_t LetterOf(const rowfs_index* index, rowfs_str path) {
  char text[64] = {0};
  if (path.size == 0 || path.size >= sizeof(text)) return -1;
  memcpy(text, path.data, path.size);
  unsigned long long number;
  int end = 0;
  if (sscanf(text, ".letters/%llu.txt%n", &number, &end) < 1 || end == 0) {
    if (sscanf(text, ".at/%llu.txt%n", &number, &end) < 1) return -1;
  }
  if ((size_t)end != path.size || number >= index->text_size) return -1;
  return (int64_t)number;
}

static int BadOf(rowfs_str path) {
  for (size_t i = 0; i < sizeof(kBad) / sizeof(kBad[0]); ++i) {
    char name[64];
    snprintf(name, sizeof(name), ".bad/%s", kBad[i]);
    if (Equal(path, name)) return (int)i;
  }
  return -1;
}

static int32_t Lookup(rowfs_index* index, rowfs_str path,
                      const rowfs_entry_sink* out, rowfs_error* error) {
  static const char* const kTop[] = {".toy",     ".upper.txt", ".big.bin",
                                     ".letters", ".at",        ".bad"};
  if (!index->has_entries) {
    return Fail(error, ROWFS_E_NEED_ENTRIES, "entries are needed");
  }
  for (size_t i = 0; i < sizeof(kTop) / sizeof(kTop[0]); ++i) {
    if (Equal(path, kTop[i])) return PutTop(index, i, out);
  }
  const int64_t letter = LetterOf(index, path);
  if (letter >= 0) return PutLetter((uint64_t)letter, out);
  const int bad = BadOf(path);
  if (bad >= 0) return Put(out, kBad[bad], ROWFS_ENTRY_FILE, 0, 1);
  return Fail(error, ROWFS_E_NOT_FOUND, "no such file");
}

static int32_t Select(rowfs_index* index, rowfs_str view, rowfs_str from,
                      rowfs_str to, const rowfs_entry_sink* out,
                      rowfs_error* error) {
  char bounds[2][16] = {{0}, {0}};
  if (!Equal(view, ".letters") || from.size > 15 || to.size > 15) {
    return Fail(error, ROWFS_E_NOT_FOUND, "no such view");
  }
  memcpy(bounds[0], from.data, from.size);
  memcpy(bounds[1], to.data, to.size);
  const uint64_t end = strtoull(bounds[1], NULL, 10);
  for (uint64_t i = strtoull(bounds[0], NULL, 10);
       i < end && i < index->text_size; ++i) {
    const int32_t code = PutLetter(i, out);
    if (code != ROWFS_OK) return code;
  }
  return ROWFS_OK;
}

static int32_t PlanOne(const rowfs_index* index, size_t item, rowfs_str path,
                       const rowfs_plan_sink* out, rowfs_error* error) {
  const rowfs_range text = {index->text_offset,
                            index->text_offset + index->text_size};
  const char* recipe = NULL;
  if (Equal(path, ".toy")) {
    rowfs_segment segments[2];
    memset(segments, 0, sizeof(segments));
    segments[0].range = text;
    segments[1].literal.data = (const uint8_t*)"!";
    segments[1].literal.size = 1;
    return out->segments(out->ctx, item, segments, 2);
  }
  if (Equal(path, ".upper.txt")) recipe = "upper";
  if (Equal(path, ".big.bin")) recipe = "big";
  if (BadOf(path) >= 0) recipe = kBad[BadOf(path)];
  if (recipe == NULL) return Fail(error, ROWFS_E_NOT_FOUND, "no such file");
  const rowfs_bytes bytes = {(const uint8_t*)recipe, strlen(recipe)};
  return out->decode(out->ctx, &item, 1, &text, 1, bytes);
}

static int32_t Plan(rowfs_index* index, const rowfs_str* paths,
                    size_t path_count, const rowfs_plan_sink* out,
                    rowfs_error* error) {
  enum { kLettersMax = 64 };
  size_t items[kLettersMax];
  uint8_t recipe[1 + kLettersMax] = {'#'};
  size_t count = 0;
  if (!index->has_entries) {
    return Fail(error, ROWFS_E_NEED_ENTRIES, "entries are needed");
  }
  for (size_t i = 0; i < path_count; ++i) {
    const int64_t letter = LetterOf(index, paths[i]);
    if (letter >= 0 && letter < 256 && count < kLettersMax) {
      recipe[1 + count] = (uint8_t)letter;
      items[count++] = i;
      continue;
    }
    const int32_t code = PlanOne(index, i, paths[i], out, error);
    if (code != ROWFS_OK) return code;
  }
  if (count == 0) return ROWFS_OK;
  const rowfs_range text = {index->text_offset,
                            index->text_offset + index->text_size};
  const rowfs_bytes bytes = {recipe, 1 + count};
  return out->decode(out->ctx, items, count, &text, 1, bytes);
}

static int32_t DecodeLetters(rowfs_bytes recipe, rowfs_bytes text,
                             const rowfs_output_sink* out) {
  for (size_t i = 1; i < recipe.size; ++i) {
    const rowfs_str message = {"letter is a question mark", 25};
    const size_t at = recipe.data[i];
    if (at >= text.size) return ROWFS_E_CORRUPT;
    const int32_t code =
        text.data[at] == '?'
            ? out->fail(out->ctx, i - 1, ROWFS_E_CORRUPT, message)
            : out->write(out->ctx, i - 1, text.data + at, 1);
    if (code != ROWFS_OK) return code;
  }
  return ROWFS_OK;
}

static int32_t DecodeUpper(rowfs_bytes text, const rowfs_output_sink* out) {
  uint8_t block[256];
  for (size_t begin = 0; begin < text.size;) {
    size_t n = 0;
    for (; n < sizeof(block) && begin < text.size; ++n, ++begin) {
      const uint8_t c = text.data[begin];
      block[n] = (uint8_t)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    const int32_t code = out->write(out->ctx, 0, block, n);
    if (code != ROWFS_OK) return code;
  }
  return ROWFS_OK;
}

static int32_t DecodeBig(const rowfs_index* index, rowfs_bytes text,
                         const rowfs_output_sink* out, rowfs_error* error) {
  const size_t size = (size_t)BigSize(index);
  uint8_t* buffer = malloc(size + 1);
  if (buffer == NULL) return Fail(error, ROWFS_E_LIMIT, "no memory");
  for (size_t at = 0; at < size;) {
    size_t n = text.size < size - at ? text.size : size - at;
    if (n == 0) break;
    memcpy(buffer + at, text.data, n);
    at += n;
  }
  const int32_t code = out->write(out->ctx, 0, buffer, size);
  free(buffer);
  return code;
}

static int32_t Decode(rowfs_index* index, rowfs_bytes recipe,
                      const rowfs_bytes* ranges, size_t range_count,
                      const rowfs_output_sink* out, rowfs_error* error) {
  char what[kModeMax] = {0};
  if (range_count != 1 || recipe.size == 0 ||
      ranges[0].size != index->text_size) {
    return Fail(error, ROWFS_E_CORRUPT, "recipe does not fit");
  }
  if (recipe.data[0] == '#') return DecodeLetters(recipe, ranges[0], out);
  if (recipe.size >= sizeof(what)) {
    return Fail(error, ROWFS_E_CORRUPT, "recipe is too long");
  }
  memcpy(what, recipe.data, recipe.size);
  if (strcmp(what, "upper") == 0) return DecodeUpper(ranges[0], out);
  if (strcmp(what, "big") == 0) return DecodeBig(index, ranges[0], out, error);
  return MisuseSink(what, out, ranges, error);
}

static int32_t Foresee(rowfs_str file_name, const rowfs_entry_sink* out,
                       rowfs_error* error) {
  (void)error;
  const size_t n = file_name.size;
  if (n < 4 || memcmp(file_name.data + n - 4, ".toy", 4) != 0) return ROWFS_OK;
  return Put(out, ".letters", ROWFS_ENTRY_DIRECTORY, 0, 0);
}

static const rowfs_plugin kPlugin = {
    ROWFS_PLUGIN_ABI_VERSION,
    sizeof(rowfs_plugin),
    "toy",
    "1.0",
    {'T', 'O', 'Y', '1'},
    NULL,
    Probe,
    Ingest,
    Open,
    Close,
    List,
    Lookup,
    Select,
    Plan,
    Decode,
    Foresee,
};

const rowfs_plugin* rowfs_plugin_entry(void);
const rowfs_plugin* rowfs_plugin_entry(void) { return &kPlugin; }
