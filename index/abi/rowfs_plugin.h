/* The rowfs plugin interface. C99, the only header a plugin sees of rowfs.
 *
 * A plugin knows one family of media. At ingest it turns a file into a payload
 * (the bytes stored in the blob), a `stream_info` and `entries` (the index,
 * which only it understands). At read time it shows a small tree of virtual
 * files made from that index ("views"), says which byte ranges of the blob one
 * of them needs (plan) and makes it from those bytes (decode). The host knows
 * no codec and no view by name: a new plugin brings new virtual files without a
 * change anywhere.
 *
 *   resolve (host) -> plan (plugin, no I/O) -> read (host) -> decode (plugin)
 *
 * Rules for every function:
 * - Called from one thread at a time, in a worker process without network,
 * files or environment. It opens nothing, starts no thread that outlives the
 * call, prints nothing, never exits.
 * - Returns ROWFS_OK or a positive ROWFS_E_ code and writes one line into
 *   `error->message` (never NULL): what is wrong, without the file's name.
 * - Pointers it is given are valid until it returns. What it hands to a
 * callback need only live until the callback returns: the host copies. No
 * allocation crosses the border, except rowfs_index, which only the plugin
 * touches.
 * - A callback that returns non-zero means: stop, return that code.
 * - All input is hostile: check every count and offset, cap every allocation.
 *
 * Structs only ever grow at the end; `struct_size` says how much the other side
 * knows. Strings are UTF-8, not terminated.
 */
#ifndef ROWFS_INDEX_ABI_ROWFS_PLUGIN_H_
#define ROWFS_INDEX_ABI_ROWFS_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROWFS_PLUGIN_ABI_VERSION 1u

enum {
  ROWFS_OK = 0,
  ROWFS_E_INVALID = 1,     /* the request or the configuration is wrong */
  ROWFS_E_CORRUPT = 2,     /* the media or the index is damaged */
  ROWFS_E_UNSUPPORTED = 3, /* sound, but not something this plugin can do */
  ROWFS_E_NOT_FOUND = 4,   /* no such view, item or time */
  ROWFS_E_LIMIT = 5,       /* would need more memory or time than allowed */
  ROWFS_E_IO = 6,          /* a callback of the host failed */
  ROWFS_E_INTERNAL = 7,    /* the plugin's own fault */
  ROWFS_E_NEED_ENTRIES = 8 /* opened with the head alone; open with entries */
};

typedef struct rowfs_str {
  const char* data;
  size_t size;
} rowfs_str;

typedef struct rowfs_bytes {
  const uint8_t* data;
  size_t size;
} rowfs_bytes;

/* The half-open byte interval [begin, end) of the blob. */
typedef struct rowfs_range {
  uint64_t begin;
  uint64_t end;
} rowfs_range;

typedef struct rowfs_error {
  char message[512]; /* terminated */
} rowfs_error;

/* Random access to an input. Reads exactly `size` bytes or fails. */
typedef struct rowfs_reader {
  void* ctx;
  uint64_t size;
  int32_t (*read_at)(void* ctx, uint64_t offset, uint8_t* out, size_t size);
} rowfs_reader;

/* Takes bytes in order. */
typedef struct rowfs_sink {
  void* ctx;
  int32_t (*write)(void* ctx, const uint8_t* data, size_t size);
} rowfs_sink;

/* ---- ingest ---------------------------------------------------------------*/

enum {
  /* Write the payload in the plugin's own order to `payload`; the container is
   * not kept (unless keep_container). */
  ROWFS_LAYOUT_STORED = 0,
  /* The blob is the file as it is; write nothing to `payload`. Also used to
   * index media that were never ingested. */
  ROWFS_LAYOUT_CONTAINER = 1
};

enum { ROWFS_VERIFY_OFF = 0, ROWFS_VERIFY_KEYS = 1, ROWFS_VERIFY_FULL = 2 };

typedef struct rowfs_ingest_request {
  uint32_t struct_size;
  int32_t layout; /* ROWFS_LAYOUT_ */
  int32_t verify; /* ROWFS_VERIFY_ */
  uint8_t
      keep_container; /* also store what rebuilds the source byte for byte */
  rowfs_reader input;
  rowfs_str file_name; /* may be empty; only for its extension */
  rowfs_str config;    /* "key=value,key=value", may be empty */
  rowfs_sink payload;
  rowfs_sink stream_info;
  rowfs_sink entries;
} rowfs_ingest_request;

typedef struct rowfs_ingest_result {
  uint32_t struct_size;
  uint8_t blob_type; /* 1 video, 2 audio, 3 image (and documents) */
} rowfs_ingest_result;

/* ---- views ----------------------------------------------------------------*/

/* An open index; made and freed by the plugin, opaque to the host. */
typedef struct rowfs_index rowfs_index;

enum { ROWFS_ENTRY_FILE = 0, ROWFS_ENTRY_DIRECTORY = 1 };

enum {
  /* Files: `size` is the true size. Without it `size` is a non-zero estimate
   * and the true size is known after decode. */
  ROWFS_ENTRY_SIZE_EXACT = 1u,
  /* Directories: `list` gives nothing or not all; names resolve by `lookup`. */
  ROWFS_ENTRY_LOOKUP_ONLY = 2u,
  /* The main file of the blob: it takes the blob's own file name. At most one
   * entry of list(""). Only in ROWFS_LAYOUT_STORED: otherwise the blob's own
   * bytes are that file. */
  ROWFS_ENTRY_WHOLE = 4u
};

typedef struct rowfs_attribute { /* becomes the xattr user.rowfs.KEY */
  rowfs_str key;
  rowfs_str value;
} rowfs_attribute;

typedef struct rowfs_entry {
  uint32_t struct_size;
  int32_t kind;   /* ROWFS_ENTRY_FILE or _DIRECTORY */
  uint32_t flags; /* ROWFS_ENTRY_ flags */
  uint64_t size;  /* files */
  rowfs_str name; /* one path part; in list("") a suffix of the blob's file
                     stem, starting with '.': ".frames", ".info.json", ".mp4" */
  rowfs_str media_type; /* files: "image/jpeg" */
  const rowfs_attribute* attributes;
  size_t attribute_count;
  /* lookup: the path under which equal content is cached and whose inode this
   * is
   * ("video.at/1.0.jpg" and "video.frames/000025.jpg" may be the same); empty =
   * the path that was asked for. */
  rowfs_str canonical_path;
} rowfs_entry;

typedef struct rowfs_entry_sink {
  void* ctx;
  int32_t (*put)(void* ctx, const rowfs_entry* entry);
} rowfs_entry_sink;

/* One piece of a file that needs no decoding: literal bytes, or, when
 * `literal.data` is NULL, a range of the blob. */
typedef struct rowfs_segment {
  rowfs_bytes literal;
  rowfs_range range;
} rowfs_segment;

/* Takes the answer to plan(). Every asked-for item is answered exactly once, by
 * one of the two. */
typedef struct rowfs_plan_sink {
  void* ctx;
  /* Item `item` is these segments, one behind the other. */
  int32_t (*segments)(void* ctx, size_t item, const rowfs_segment* segments,
                      size_t segment_count);
  /* Items `items` come out of one decode() with `recipe` and the bytes of
   * `ranges`. Ranges are sorted and disjoint; what need not be read is not in
   * them. */
  int32_t (*decode)(void* ctx, const size_t* items, size_t item_count,
                    const rowfs_range* ranges, size_t range_count,
                    rowfs_bytes recipe);
} rowfs_plan_sink;

/* Takes the outputs of decode(). `item` counts within that decode (0 = the
 * first of the plan's `items`). A large output may come in several calls, in
 * order. An item that fails alone is reported by `fail`; the others go on. */
typedef struct rowfs_output_sink {
  void* ctx;
  int32_t (*write)(void* ctx, size_t item, const uint8_t* data, size_t size);
  int32_t (*fail)(void* ctx, size_t item, int32_t code, rowfs_str message);
} rowfs_output_sink;

/* ---- the plugin -----------------------------------------------------------*/

typedef struct rowfs_plugin {
  uint32_t abi_version; /* ROWFS_PLUGIN_ABI_VERSION */
  uint32_t struct_size; /* sizeof(rowfs_plugin) */
  const char* name;     /* "video"; as --media takes it */
  const char* version;  /* of plugin and decoders; part of every cache key */
  char magic[4];        /* the first four bytes of its stream_info */

  /* Once per process, before the sandbox closes: load tables and libraries. May
   * be NULL. */
  int32_t (*warm_up)(rowfs_error* error);

  /* How sure the plugin is that it handles a file with this head (up to 64 KiB)
   * and name: 0 no, 100 certain. May not fail. */
  int32_t (*probe)(rowfs_bytes head, rowfs_str file_name);

  /* Demux `request->input`, write payload, stream_info and entries, never
   * re-encoding. On any error what was written is thrown away. */
  int32_t (*ingest)(const rowfs_ingest_request* request,
                    rowfs_ingest_result* result, rowfs_error* error);

  /* Open an index. `entries.data` NULL: `stream_info` may be a prefix of at
   * least 512 bytes (or all); list("") must work, everything else may return
   * ROWFS_E_NEED_ENTRIES. `blob_size` is the size of the stored payload; an
   * index that points past it is corrupt. `config`: "frames=png,segment=1". */
  int32_t (*open)(rowfs_bytes stream_info, rowfs_bytes entries,
                  uint64_t blob_size, rowfs_str config, rowfs_index** out,
                  rowfs_error* error);
  void (*close)(rowfs_index* index);

  /* Entries of `directory` ("" = beside the blob, ".frames", ".pages/0001"),
   * from number `start`, at most `limit`, always in the same order. */
  int32_t (*list)(rowfs_index* index, rowfs_str directory, uint64_t start,
                  uint64_t limit, const rowfs_entry_sink* out,
                  rowfs_error* error);

  /* The one entry at `path` (".frames/000012.jpg", ".at/12.5.jpg"). */
  int32_t (*lookup)(rowfs_index* index, rowfs_str path,
                    const rowfs_entry_sink* out, rowfs_error* error);

  /* Entries of the listed directory `view` that are shown in the window
   * [from, to) seconds (decimal text). ROWFS_E_NOT_FOUND when the window lies
   * outside the media. May be NULL for media without time. */
  int32_t (*select)(rowfs_index* index, rowfs_str view, rowfs_str from,
                    rowfs_str to, const rowfs_entry_sink* out,
                    rowfs_error* error);

  /* What the files `paths` need. No I/O. Items of one GOP, page or run that can
   * share a range and a decode are answered together. */
  int32_t (*plan)(rowfs_index* index, const rowfs_str* paths, size_t path_count,
                  const rowfs_plan_sink* out, rowfs_error* error);

  /* Make the outputs of one planned decode. `ranges[i]` holds the bytes of the
   * plan's range i. The index may keep decoder state between calls, bounded by
   * 256 MiB, so that a neighbour of the last frame is cheap. */
  int32_t (*decode)(rowfs_index* index, rowfs_bytes recipe,
                    const rowfs_bytes* ranges, size_t range_count,
                    const rowfs_output_sink* out, rowfs_error* error);

  /* Entries that list("") usually gives for a file called `file_name`, told by
   * its extension alone: what a folder shows before the file is indexed. None:
   * no kind this plugin reads, or one not worth a mention (single pictures).
   * Sizes are not looked at. May be NULL: none. */
  int32_t (*foresee)(rowfs_str file_name, const rowfs_entry_sink* out,
                     rowfs_error* error);

  /* Like decode, for a planned decode that named no range, because what it
   * needs is only found on the way (files whose parts point at one another):
   * reads that of the blob through `blob`. May be NULL: such a decode is made
   * by decode, from no bytes. */
  int32_t (*decode_from)(rowfs_index* index, rowfs_bytes recipe,
                         const rowfs_reader* blob, const rowfs_output_sink* out,
                         rowfs_error* error);
} rowfs_plugin;

/* The one symbol a plugin exports. The result is static. */
#define ROWFS_PLUGIN_ENTRY "rowfs_plugin_entry"
typedef const rowfs_plugin* (*rowfs_plugin_entry_fn)(void);

#ifdef __cplusplus
}
#endif
#endif /* ROWFS_INDEX_ABI_ROWFS_PLUGIN_H_ */
