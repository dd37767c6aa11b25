// libcurl sets options and reads information through variadic functions, which Swift cannot call. This
// file has one function for each type of value, named after the C function and the type. It returns the
// C function's result.

#ifndef IMG_CCURL_SHIM_H
#define IMG_CCURL_SHIM_H

#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#pragma clang assume_nonnull begin

// curl_easy_setopt(3)

static inline CURLcode curl_easy_setopt_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_setopt_off_t(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

/// libcurl keeps a copy of the string.
static inline CURLcode curl_easy_setopt_string(
    CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

/// libcurl keeps the pointer, so the pointee must outlive its use.
static inline CURLcode curl_easy_setopt_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

/// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
static inline CURLcode curl_easy_setopt_write_callback(
    CURL *handle, CURLoption option, curl_write_callback value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_setopt_opensocket_callback(
    CURL *handle, CURLoption option, curl_opensocket_callback value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_setopt_prereq_callback(
    CURL *handle, CURLoption option, curl_prereq_callback value) {
  return curl_easy_setopt(handle, option, value);
}

// curl_share_setopt(3)

static inline CURLSHcode curl_share_setopt_data(CURLSH *share, CURLSHoption option, curl_lock_data value) {
  return curl_share_setopt(share, option, value);
}

/// Without a share, the handle has none.
static inline CURLcode curl_easy_setopt_share(CURL *handle, CURLSH *_Nullable share) {
  return curl_easy_setopt(handle, CURLOPT_SHARE, share);
}

// curl_easy_getinfo(3)

static inline CURLcode curl_easy_getinfo_off_t(CURL *handle, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode curl_easy_getinfo_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode curl_easy_getinfo_pointer(
    CURL *handle, CURLINFO info, void *_Nullable *_Nonnull value) {
  return curl_easy_getinfo(handle, info, value);
}

// curl_multi_setopt(3)

static inline CURLMcode curl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode curl_multi_setopt_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode curl_multi_setopt_socket_callback(
    CURLM *multi, CURLMoption option, curl_socket_callback value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode curl_multi_setopt_timer_callback(
    CURLM *multi, CURLMoption option, curl_multi_timer_callback value) {
  return curl_multi_setopt(multi, option, value);
}

// Addresses

/// The address to which a socket will connect, in network byte order. Writes 4 or 16 bytes and returns
/// their count, or 0 for a family that is neither IPv4 nor IPv6. The address is longer than the field
/// curl_sockaddr.addr declares, so only C can read it.
static inline int curl_sockaddr_address(
    const struct curl_sockaddr *socket_address, unsigned char *bytes) {
  const void *address = &socket_address->addr;
  switch (socket_address->family) {
  case AF_INET:
    memcpy(bytes, &((const struct sockaddr_in *)address)->sin_addr, 4);
    return 4;
  case AF_INET6:
    memcpy(bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    return 16;
  default:
    return 0;
  }
}

#pragma clang assume_nonnull end

#endif
