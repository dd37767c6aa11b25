/** The failure codes of imgctl, by which a list can be filtered. */
export const failureCodes = [
  "invalid_url", "unsupported_scheme", "blocked_address", "blocked_path", "dns_failure",
  "connect_failure", "tls_failure", "timeout", "too_many_redirects", "http_status",
  "invalid_response", "too_large", "truncated_body", "opted_out", "unreadable_file",
  "not_an_image", "unsupported_format", "too_many_pixels", "too_many_frames",
  "frame_out_of_range", "unsupported_animation", "corrupt_image", "decode_timeout",
  "decode_crash", "out_of_memory", "store_full", "not_cached", "cancelled", "internal",
];
