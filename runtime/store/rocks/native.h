// The native half of the store: what would cost several calls from Go into C per
// key is one call per batch here, and what RocksDB calls back is C, never Go.
#ifndef TWS_ROCKS_NATIVE_H
#define TWS_ROCKS_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include "rocksdb/c.h"

// tws_linked_version writes the version of the RocksDB library, such as
// "11.1.2", to out, or an empty string if the library does not say.
void tws_linked_version(char* out, size_t n);

// The expiry clock of one store: what expires at or before it may vanish. Any
// thread may set it while compactions read it.
typedef struct tws_clock tws_clock;
tws_clock* tws_clock_create(void);
void tws_clock_set(tws_clock* clock, int64_t micros);
void tws_clock_destroy(tws_clock* clock);

// tws_expiry_filter makes a compaction filter that drops what has expired. The
// clock must outlive it.
rocksdb_compactionfilter_t* tws_expiry_filter(tws_clock* clock);

// tws_multi is scratch memory for look-ups of many keys, for one at a time.
typedef struct tws_multi tws_multi;
tws_multi* tws_multi_create(void);
void tws_multi_destroy(tws_multi* m);

// tws_multi_get looks up n keys in ascending order. keys are all of them, one
// after the other; ends[i] is where key i ends. It sets lens[i] to the length of
// value i, or to -1 if there is none, and returns the values, one after the
// other, which are valid until the next call. On an error, which the caller
// frees, it returns NULL.
const char* tws_multi_get(tws_multi* m, rocksdb_t* db,
                          const rocksdb_readoptions_t* options,
                          rocksdb_column_family_handle_t* family,
                          const char* keys, const uint32_t* ends, size_t n,
                          int64_t* lens, char** err);

// tws_scan is one scan of a range. A closed one can be opened again.
typedef struct tws_scan tws_scan;
tws_scan* tws_scan_create(void);
void tws_scan_open(tws_scan* s, rocksdb_t* db,
                   rocksdb_column_family_handle_t* family, const char* lower,
                   size_t lower_len, const char* upper, size_t upper_len);
void tws_scan_close(tws_scan* s);
void tws_scan_destroy(tws_scan* s);

// tws_scan_fill writes the next entries, at most max of them, into buf: for each
// 4 bytes length of the key, 4 bytes length of the value, in the byte order of
// the machine, then both. It returns how many bytes it wrote and sets *need to 0,
// or if not even one entry fits, to how many bytes that takes. It wrote nothing
// and *need is 0 at the end of the range or on an error, which the caller frees.
size_t tws_scan_fill(tws_scan* s, char* buf, size_t size, size_t max,
                     size_t* need, char** err);

#endif
