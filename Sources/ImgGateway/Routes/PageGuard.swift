import ImgHTTP

/// Which web pages may ask for what belongs to the gallery: those of the gateway itself. Where only this machine can
/// connect, pictures are for pages of this machine, too, unless the settings permit all.
///
/// A page of another site can make a browser send requests to this machine, and reads from an image whether
/// there is a picture. Browsers tell which site sends a request (Fetch Metadata, `Sec-Fetch-Site`). Another port
/// of the same host is another page. Programs send no such field.
enum PageGuard {
  /// - Parameter servesOtherSites: whether pages of all sites get pictures.
  /// - Throws: ``RequestRejection`` with status 403.
  static func check(
    _ request: HTTPRequest, to route: Route, servesOtherSites: Bool
  ) throws(RequestRejection) {
    guard route.belongsToGallery else {
      guard servesOtherSites || !route.hasPictures || isOfThisMachine(request) else {
        throw foreignPicture
      }
      return
    }
    let site = request.fields["Sec-Fetch-Site"]
    let isOwn = site == nil || site == "same-origin" || site == "none"
    guard request.method == .post else {
      guard isOwn || opensPage(request, at: route) else { throw foreignPage }
      return
    }
    guard isOwn, request.fields["X-Requested-With"] == "imgctl" else { throw foreignChange }
  }

  /// Whether no page sends a request, or one of the same host: what listens on another port of it can connect by
  /// itself.
  private static func isOfThisMachine(_ request: HTTPRequest) -> Bool {
    guard let site = request.fields["Sec-Fetch-Site"] else { return true }
    return ["same-origin", "same-site", "none"].contains(site)
  }

  /// Whether a link leads a person to the page of the gallery. The page that has the link reads nothing of it.
  private static func opensPage(_ request: HTTPRequest, at route: Route) -> Bool {
    let isPage = if case .photo = route { true } else { request.target.prefix { $0 != "?" } == "/" }
    return isPage && request.fields["Sec-Fetch-Mode"] == "navigate"
      && request.fields["Sec-Fetch-Dest"] == "document"
  }

  private static let foreignPicture = RequestRejection(
    .forbidden, code: "foreign_page",
    "a page of another site may not ask for pictures here; --cross-site yes permits that")

  private static let foreignPage = RequestRejection(
    .forbidden, code: "foreign_page",
    "a page of another site may not ask for this; its pictures are at /image?url=…, and a link to / or "
      + "/photo/ID opens the gallery")

  private static let foreignChange = RequestRejection(
    .forbidden, code: "foreign_page",
    "a request that changes something has the field X-Requested-With: imgctl, and no other site "
      + "may send it")
}
