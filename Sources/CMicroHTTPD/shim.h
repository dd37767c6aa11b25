// libmicrohttpd for Swift: its variadic functions, and the Linux event descriptor. Each function is named
// after its C function.
#pragma once
#include <arpa/inet.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/eventfd.h>

/// Swift does not import these macros, because they have a cast.
static const uint64_t MHD_BODY_SIZE_UNKNOWN = MHD_SIZE_UNKNOWN;
static const ssize_t MHD_READER_END_OF_STREAM = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t MHD_READER_END_WITH_ERROR = MHD_CONTENT_READER_END_WITH_ERROR;

/// `POLLRDHUP` of poll(2), which <poll.h> declares only under `_GNU_SOURCE`.
static const short POLL_PEER_CLOSED = 0x2000;

typedef void *_Nullable (*MHD_UriLogCallback)(
    void *_Nullable context, const char *_Nullable uri, struct MHD_Connection *_Nullable connection);

/// `MHD_start_daemon` on 127.0.0.1, with one thread for each connection, so callbacks may block. With
/// `port` 0, the kernel chooses the port. All callbacks get `context`.
static inline struct MHD_Daemon *_Nullable MHD_start_daemon_on_loopback(
    uint16_t port,
    void *_Nonnull context,
    MHD_UriLogCallback _Nonnull on_target,
    MHD_AccessHandlerCallback _Nonnull on_request,
    MHD_RequestCompletedCallback _Nonnull on_end,
    MHD_NotifyConnectionCallback _Nonnull on_connection) {
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons(port),
      .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
  };
  return MHD_start_daemon(
      MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL_INTERNAL_THREAD,
      port, NULL, NULL, on_request, context,
      MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
      MHD_OPTION_URI_LOG_CALLBACK, on_target, context,
      MHD_OPTION_NOTIFY_COMPLETED, on_end, context,
      MHD_OPTION_NOTIFY_CONNECTION, on_connection, context,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned int)4096,
      MHD_OPTION_END);
}

/// `MHD_start_daemon` without a thread: the caller waits by epoll(7) for `MHD_get_daemon_epoll_fd`, and calls
/// `MHD_run`. It does not listen: it gets its connections from `MHD_add_connection`, and callbacks can
/// suspend them. All callbacks get `context`.
static inline struct MHD_Daemon *_Nullable MHD_start_daemon_without_thread(
    void *_Nonnull context,
    MHD_UriLogCallback _Nonnull on_target,
    MHD_AccessHandlerCallback _Nonnull on_request,
    MHD_RequestCompletedCallback _Nonnull on_end,
    MHD_NotifyConnectionCallback _Nonnull on_connection,
    unsigned int connection_limit,
    unsigned int idle_seconds,
    size_t connection_byte_limit) {
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET,
      0, NULL, NULL, on_request, context,
      MHD_OPTION_URI_LOG_CALLBACK, on_target, context,
      MHD_OPTION_NOTIFY_COMPLETED, on_end, context,
      MHD_OPTION_NOTIFY_CONNECTION, on_connection, context,
      MHD_OPTION_CONNECTION_LIMIT, connection_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_byte_limit,
      MHD_OPTION_STRICT_FOR_CLIENT, 0,
      MHD_OPTION_END);
}

/// `MHD_get_daemon_info(…, MHD_DAEMON_INFO_BIND_PORT)`; 0 if it fails.
static inline uint16_t MHD_get_daemon_port(struct MHD_Daemon *_Nonnull daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}

/// `MHD_get_daemon_info(…, MHD_DAEMON_INFO_EPOLL_FD)`; -1 if it fails.
static inline int MHD_get_daemon_epoll_fd(struct MHD_Daemon *_Nonnull daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info == NULL ? -1 : info->epoll_fd;
}

/// `MHD_get_timeout` in milliseconds, at most INT_MAX; -1 for no timeout.
static inline int MHD_get_timeout_milliseconds(struct MHD_Daemon *_Nonnull daemon) {
  MHD_UNSIGNED_LONG_LONG timeout;
  if (MHD_get_timeout(daemon, &timeout) != MHD_YES) return -1;
  return timeout > INT_MAX ? INT_MAX : (int)timeout;
}

/// `MHD_get_connection_info(…, MHD_CONNECTION_INFO_CONNECTION_FD)`; -1 if it fails.
static inline int MHD_get_connection_fd(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

/// `MHD_get_connection_info(…, MHD_CONNECTION_INFO_SOCKET_CONTEXT)`; NULL if it fails.
static inline void *_Nullable MHD_get_connection_context(
    struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

/// `MHD_get_connection_info(…, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)`; 0 if it fails.
static inline size_t MHD_get_request_header_size(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info == NULL ? 0 : info->header_size;
}

/// Keeps libmicrohttpd from reading parts of a request: the arguments of its query, its cookies and the size of its
/// body. Call it in the `MHD_UriLogCallback`, after the last use of `target`.
///
/// libmicrohttpd 0.9.75 neither answers nor closes the connection if it has no room for an argument, and sends the
/// header of its response twice if it has none for a cookie or does not accept a length. The target lies in the
/// memory of the connection, where libmicrohttpd divides it itself. Of several fields with one name, it reads the
/// first.
///
/// The target ends at a zero byte, but can also contain some. libmicrohttpd takes the first question mark before the
/// version, which is `HTTP/` with two digits: it has checked that.
static inline void MHD_skip_parsing(
    struct MHD_Connection *_Nonnull connection, const char *_Nonnull target) {
  char *part = (char *)target;
  char *query = strchr(part, '?');
  while (query == NULL) {
    part += strlen(part) + 1;
    if (strncmp(part, "HTTP/", 5) == 0 && strlen(part) == 8) break;
    query = strchr(part, '?');
  }
  if (query != NULL) query[1] = '\0';
  // Both fail only if the target fills the memory. Then libmicrohttpd refuses the fields.
  MHD_set_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_COOKIE, "");
  MHD_set_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH, "0");
}

/// `MHD_set_response_options` that lets the caller set `Content-Length`. libmicrohttpd adds none to a body
/// of unknown size. With these HTTP/1.0 options it also does not use the chunked coding: it closes the
/// connection after the body.
static inline enum MHD_Result MHD_allow_own_content_length(
    struct MHD_Response *_Nonnull response) {
  return MHD_set_response_options(
      response, MHD_RF_INSANITY_HEADER_CONTENT_LENGTH | MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
      MHD_RO_END);
}
