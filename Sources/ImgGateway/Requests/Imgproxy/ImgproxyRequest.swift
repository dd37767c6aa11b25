import ImgModel

/// Reads paths of imgproxy, `/{signature}/rs:fill:300:200/plain/{URL}@webp` and
/// `/{signature}/rs:fill:300:200/{base64}.webp`.
enum ImgproxyRequest {
  /// - Parameter now: decides whether the request has expired.
  /// - Throws: 400 for a path that cannot be read and for an address that is no URL; 404 for an expired
  ///   request; 422 for an option.
  static func query(
    _ path: ImgproxyPath, presets: ImgproxyPresets, now: WallTime
  ) throws(RequestRejection) -> ImageQuery {
    var options = ImgproxyOptions(presets: presets, now: now)
    if presets[ImgproxyPresets.defaultName] != nil {
      try options.applyPreset(ImgproxyPresets.defaultName)
    }
    for option in try path.parsedOptions() { try options.apply(option) }
    let (address, format) = try path.address()
    if let format { try options.applyExtension(format) }
    return try options.query(SourceAddress.url(address))
  }
}
