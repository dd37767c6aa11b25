package import ImgModel

/// A thumbnail with its source, or the reason why there is none.
package enum FoundThumbnail: Sendable {
  case stored(StoredResult, isFromCache: Bool, Timings?)
  case uncached(UncachedPicture)
  case nothing(Failure, Timings?)
}
