import ImgModel
import ImgStore
import ImgSystem
import ImgWire

/// A thumbnail that is not in the store, on its way to the coordinator and so to whoever waits for it
/// in person.
///
/// Each one is handed over, whether or not somebody did wait for it when its fetch was assigned: a
/// viewer may join until the result is told, and then has its picture without another message or
/// fetch. A list pays for that with a file in memory and a frame for each line that the store
/// refuses, which is little beside fetching and decoding it.
struct Handover {
  let lease: LeaseID
  let thumbnail: NewThumbnail
  let bytesFetched: Int
  /// Why the store has not got it; `nil` when it was not to have it.
  let refusal: StoreRefusal?
  let timings: Timings

  var message: WorkerMessage {
    .uncached(
      UncachedResult(
        lease: lease,
        made: UncachedThumbnail(
          thumbnail: thumbnail.thumbnail, sourceFormat: thumbnail.sourceFormat,
          sourceWidth: thumbnail.sourceWidth, sourceHeight: thumbnail.sourceHeight,
          sourceByteCount: thumbnail.sourceByteCount, failure: refusal?.failure,
          timings: timings),
        bytesFetched: bytesFetched, isStoreDegraded: refusal?.isStoreDegraded ?? false))
  }

  /// The outcome when not even a file can be made of it.
  func outcome(becauseOf error: SystemError) -> Outcome {
    .failed(
      refusal?.failure
        ?? Failure(
          stage: .decode, code: .outOfMemory,
          detail: "the thumbnail cannot be handed over: \(error)"))
  }
}
