import ImgHTTP
import ImgSettings

/// A path that has no address where imgproxy's paths have one: of another form of imgproxy, or of another server.
/// What stands there tells which, so that the answer can name it.
struct ForeignPath {
  let signature: String
  /// The segments where an address should be.
  let source: ArraySlice<Substring>

  /// Names that the deprecated form of imgproxy's paths begins with.
  private static let deprecatedTypes: Set<Substring> = [
    "fit", "fill", "fill-down", "force", "auto",
  ]

  /// `nil` for a path that may end with an address in base64.
  var rejection: RequestRejection? {
    guard let first = source.first else { return nil }
    if first == "enc" {
      return .unsupportedForm(
        "encrypted addresses of pictures, /enc/…, are not supported; write /plain/ and the address")
    }
    if source.contains("-") {
      return .unsupportedForm(
        "chained pipelines, /-/, are not supported; write the options of one")
    }
    if signature == "info", source.contains("plain") {
      return .unsupportedForm(
        "the endpoint /info is not supported; leave /info out for the picture")
    }
    if Self.deprecatedTypes.contains(first) {
      return .malformedTarget(
        "this form of imgproxy's paths is deprecated; write /rs:fill:300:200/ for /fill/300/200/")
    }
    guard source.dropLast().contains("plain") else { return nil }
    guard !first.isEmpty else {
      return .malformedTarget("the path has two slashes before /plain/; write one")
    }
    return .malformedTarget(
      "\(Spelling.quoted(String(first))) before /plain/ is no option: an option has colons, such as "
        + "rs:fit:300:200, and a preset is written pr:NAME")
  }
}

extension RequestRejection {
  fileprivate static func unsupportedForm(_ message: String) -> RequestRejection {
    RequestRejection(.unprocessableContent, code: "unsupported_option", message)
  }
}
