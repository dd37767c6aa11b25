package import ImgClient
package import ImgModel

/// What a client of the gateway asks for: a picture as a thumbnail, however it spelled that.
package struct ImageQuery: Hashable, Sendable {
  /// The format of the answer.
  package enum Format: Hashable, Sendable {
    /// The best format that the client accepts (RFC 9110, section 12.5.1).
    case negotiated
    /// That of the request's variant.
    case fixed
  }

  /// The server whose form a request has. It decides what an answer says beside the picture.
  package enum Service: Hashable, Sendable {
    case weserv, imgproxy
    /// That of a path below `/id`, with its id.
    case picsum(id: String)
  }

  /// What is answered where there is no thumbnail.
  package enum Fallback: Hashable, Sendable {
    /// The failure as JSON.
    case failure
    /// A drawing.
    case placeholder(ImagePlaceholder)
    /// Another picture, as a thumbnail of the same variant.
    case picture(url: String)
  }

  /// Its URL is normalized, and its variant in range.
  package var request: ImageRequest
  package var service: Service
  package var format = Format.negotiated
  package var fallback = Fallback.failure
  /// How long the client and proxies may keep the answer; `nil` for as long as the store does.
  package var maximumAge: Duration?
  /// When the request ends, and with it the time for which its answer may be kept; `nil` for no such end.
  package var expiresAt: WallTime?
  /// The box that was asked for, which may leave sides open. That of the request's variant leaves none.
  var box = RequestedBox()
  /// The name in `Content-Disposition`; `nil` for no such field.
  package var fileName: String?
  /// Whether browsers save the picture instead of showing it: `Content-Disposition: attachment`, with
  /// ``fileName`` if there is one.
  package var isAttachment = false

  /// Whether scripts of pages of all sites may read the answer.
  var isShared = false

  package init(_ request: ImageRequest, service: Service = .weserv) {
    self.request = request
    self.service = service
  }
}
