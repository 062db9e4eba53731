//go:build cgo && grocksdb_no_link

#include "native.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// must ends the process when memory is exhausted, as Go does.
static void* must(void* p) {
  if (p == NULL) {
    fprintf(stderr, "rocks: out of memory\n");
    abort();
  }
  return p;
}

// --- version ---

// The C interface has no function for the version, but a database logs it when
// it is opened.
typedef struct {
  char* out;
  size_t n;
} version_log;

static void find_version(void* priv, unsigned level, char* msg, size_t len) {
  static const char mark[] = "RocksDB version: ";
  version_log* log = priv;
  size_t skip = sizeof mark - 1;
  (void)level;
  for (size_t i = 0; i + skip < len; i++) {
    if (memcmp(msg + i, mark, skip) != 0) continue;
    size_t n = 0;
    for (i += skip; i < len && n + 1 < log->n && strchr("0123456789.", msg[i]) != NULL && msg[i] != 0; i++) {
      log->out[n++] = msg[i];
    }
    log->out[n] = 0;
    return;
  }
}

void tws_linked_version(char* out, size_t n) {
  version_log log = {out, n};
  char* err = NULL;
  out[0] = 0;
  rocksdb_env_t* env = rocksdb_create_mem_env();
  rocksdb_logger_t* logger = rocksdb_logger_create_callback_logger(1, find_version, &log);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_env(options, env);
  rocksdb_options_set_info_log(options, logger);
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, "/version", &err);
  if (db != NULL) rocksdb_close(db);
  if (err != NULL) rocksdb_free(err);
  rocksdb_options_destroy(options);
  rocksdb_logger_destroy(logger);
  rocksdb_env_destroy(env);
}

// --- expiry ---

struct tws_clock {
  _Atomic int64_t micros;
};

tws_clock* tws_clock_create(void) {
  tws_clock* clock = must(malloc(sizeof *clock));
  atomic_init(&clock->micros, INT64_MIN);
  return clock;
}

void tws_clock_set(tws_clock* clock, int64_t micros) {
  atomic_store(&clock->micros, micros);
}

void tws_clock_destroy(tws_clock* clock) { free(clock); }

static void keep_state(void* state) { (void)state; }

static const char* expiry_name(void* state) {
  (void)state;
  return "tws.expiry";
}

// Only values, list heads and elements have the header that says when they
// expire: a byte of flags, and if bit 0 is set, the instant, 8 bytes big-endian.
static unsigned char has_expired(void* state, int level, const char* key,
                                 size_t key_len, const char* value,
                                 size_t value_len, char** new_value,
                                 size_t* new_value_len,
                                 unsigned char* value_changed) {
  tws_clock* clock = state;
  (void)level, (void)new_value, (void)new_value_len, (void)value_changed;
  if (key_len < 2 || value_len < 9 || (value[0] & 1) == 0) return 0;
  if (key[1] != 'v' && key[1] != 'l' && key[1] != 'e') return 0;
  uint64_t at = 0;
  for (int i = 1; i <= 8; i++) at = at << 8 | (unsigned char)value[i];
  return (int64_t)at <= atomic_load(&clock->micros);
}

rocksdb_compactionfilter_t* tws_expiry_filter(tws_clock* clock) {
  return rocksdb_compactionfilter_create(clock, keep_state, has_expired, expiry_name);
}

// --- look-up of many keys ---

struct tws_multi {
  size_t cap;
  rocksdb_slice_t* keys;
  rocksdb_pinnableslice_t** values;
  char** errs;
  char* out;
  size_t out_cap;
};

tws_multi* tws_multi_create(void) { return must(calloc(1, sizeof(tws_multi))); }

void tws_multi_destroy(tws_multi* m) {
  free(m->keys);
  free(m->values);
  free(m->errs);
  free(m->out);
  free(m);
}

static void multi_reserve(tws_multi* m, size_t n) {
  if (n <= m->cap) return;
  m->keys = must(realloc(m->keys, n * sizeof *m->keys));
  m->values = must(realloc(m->values, n * sizeof *m->values));
  m->errs = must(realloc(m->errs, n * sizeof *m->errs));
  m->cap = n;
}

// multi_append copies a value behind those before it.
static size_t multi_append(tws_multi* m, size_t used, const char* value, size_t len) {
  if (used + len > m->out_cap) {
    m->out_cap = 2 * (used + len);
    m->out = must(realloc(m->out, m->out_cap));
  }
  if (len > 0) memcpy(m->out + used, value, len);
  return used + len;
}

const char* tws_multi_get(tws_multi* m, rocksdb_t* db,
                          const rocksdb_readoptions_t* options,
                          rocksdb_column_family_handle_t* family,
                          const char* keys, const uint32_t* ends, size_t n,
                          int64_t* lens, char** err) {
  multi_reserve(m, n);
  size_t used = multi_append(m, 0, "", 1) - 1;  // so that out is never NULL
  for (size_t i = 0, start = 0; i < n; start = ends[i], i++) {
    m->keys[i] = (rocksdb_slice_t){keys + start, ends[i] - start};
    m->values[i] = NULL;
    m->errs[i] = NULL;
  }
  rocksdb_batched_multi_get_cf_slice(db, options, family, n, m->keys, m->values, m->errs, true);
  for (size_t i = 0; i < n; i++) {
    lens[i] = -1;
    if (m->values[i] != NULL) {
      size_t len = 0;
      const char* value = rocksdb_pinnableslice_value(m->values[i], &len);
      used = multi_append(m, used, value, len);
      lens[i] = (int64_t)len;
      rocksdb_pinnableslice_destroy(m->values[i]);
    }
    if (m->errs[i] == NULL) continue;
    if (*err == NULL) {
      *err = m->errs[i];
    } else {
      rocksdb_free(m->errs[i]);
    }
  }
  return *err == NULL ? m->out : NULL;
}

// --- scan ---

struct tws_scan {
  rocksdb_readoptions_t* options;
  rocksdb_iterator_t* it;
  char* bounds;  // the iterator reads them here as long as it lives
  size_t bounds_cap;
};

tws_scan* tws_scan_create(void) {
  tws_scan* s = must(calloc(1, sizeof *s));
  s->options = rocksdb_readoptions_create();
  // A scan walks in key order whatever the memtable is.
  rocksdb_readoptions_set_total_order_seek(s->options, 1);
  return s;
}

void tws_scan_open(tws_scan* s, rocksdb_t* db,
                   rocksdb_column_family_handle_t* family, const char* lower,
                   size_t lower_len, const char* upper, size_t upper_len) {
  size_t n = lower_len + upper_len + 1;
  if (n > s->bounds_cap) {
    s->bounds = must(realloc(s->bounds, n));
    s->bounds_cap = n;
  }
  if (lower_len > 0) memcpy(s->bounds, lower, lower_len);
  if (upper_len > 0) memcpy(s->bounds + lower_len, upper, upper_len);
  rocksdb_readoptions_set_iterate_lower_bound(s->options, s->bounds, lower_len);
  rocksdb_readoptions_set_iterate_upper_bound(s->options, s->bounds + lower_len, upper_len);
  s->it = rocksdb_create_iterator_cf(db, s->options, family);
  rocksdb_iter_seek(s->it, s->bounds, lower_len);
}

void tws_scan_close(tws_scan* s) {
  if (s->it != NULL) rocksdb_iter_destroy(s->it);
  s->it = NULL;
}

void tws_scan_destroy(tws_scan* s) {
  tws_scan_close(s);
  rocksdb_readoptions_destroy(s->options);
  free(s->bounds);
  free(s);
}

size_t tws_scan_fill(tws_scan* s, char* buf, size_t size, size_t max,
                     size_t* need, char** err) {
  size_t used = 0;
  *need = 0;
  for (; max > 0 && rocksdb_iter_valid(s->it); max--) {
    rocksdb_slice_t key = rocksdb_iter_key_slice(s->it);
    rocksdb_slice_t value = rocksdb_iter_value_slice(s->it);
    uint32_t lens[2] = {(uint32_t)key.size, (uint32_t)value.size};
    size_t entry = sizeof lens + key.size + value.size;
    if (used + entry > size) {
      if (used == 0) *need = entry;
      return used;
    }
    memcpy(buf + used, lens, sizeof lens);
    if (key.size > 0) memcpy(buf + used + sizeof lens, key.data, key.size);
    if (value.size > 0) memcpy(buf + used + sizeof lens + key.size, value.data, value.size);
    used += entry;
    rocksdb_iter_next(s->it);
  }
  // An iterator that stops at damage looks like one at its end.
  if (used == 0 && max > 0) rocksdb_iter_get_error(s->it, err);
  return used;
}
