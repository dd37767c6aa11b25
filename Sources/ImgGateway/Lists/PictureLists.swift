package import ImgClient
package import ImgModel

/// Answers questions about lists: a page of the lines of a job or of the thumbnails of the store, and the
/// facts of one picture in them.
///
/// A question examines a limited number of lines or records, however few of them are sought. Where that ends
/// a page early, its link to the next page goes on.
package struct PictureLists: Sendable {
  /// Where lists come from.
  package typealias Transport = JobTransport & CacheTransport

  let transport: any Transport
  let cache: ImageCache

  /// - Parameter transport: that of the client.
  package init(_ transport: any Transport) {
    self.transport = transport
    // Lists do not push the pictures that are shown out of memory.
    cache = ImageClient(transport: transport, memoryCache: nil).cache
  }

  /// A page of a list.
  ///
  /// - Parameter now: thumbnails of the store that have expired are left out.
  /// - Throws: ``ImageError/Code/unknownJob``, and what the transport throws.
  package func page(_ query: ListQuery, now: WallTime) async throws(ImageError) -> ListPage {
    if let job = query.job {
      try await linePage(query, of: job)
    } else {
      try await recordPage(query, now: now)
    }
  }

  /// The facts of a picture.
  ///
  /// - Returns: `nil` if there is no such picture, or it has expired.
  /// - Throws: ``ImageError/Code/unknownJob``, and what the transport throws.
  package func info(
    of id: PictureID, now: WallTime
  ) async throws(ImageError) -> PictureInfo? {
    switch id {
    case .line(let job, let index): try await lineInfo(of: job, index)
    case .record(let id): try await recordInfo(of: id, now: now)
    }
  }
}

extension ListQuery {
  /// Whether entries are left out, so that the number of a page tells nothing about where it begins.
  var isFiltered: Bool { text != nil || outcome != nil || code != nil }
}
