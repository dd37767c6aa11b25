package import ImgClient
import ImgModel

/// The request that has the thumbnail of a line of a job.
package struct JobLineRequest: Hashable, Sendable {
  /// `nil` for a job whose thumbnails no request of this server has.
  package let variant: ImageVariant?
  private let acceptsDamage: Bool

  /// - Parameter job: one that names its pictures otherwise than by their URLs, or adds header fields, whose
  ///   values are secret, has pictures that no other request finds.
  package init(_ job: ImageJob) {
    let status = job.status
    let isNamedByURL =
      status.fetch.headers.isEmpty && status.fetch.cacheKey == nil
      && status.fetch.ignoredQuery == .none
    variant = isNamedByURL ? ImageVariant(status.variant) : nil
    acceptsDamage = status.isLenient
  }

  /// - Parameter url: of the line.
  /// - Returns: `nil` without a ``variant``.
  package func request(of url: String) -> ImageRequest? {
    variant.map { variant in
      var request = ImageRequest(url: url, variant: variant)
      request.acceptsDamage = acceptsDamage
      return request
    }
  }
}
