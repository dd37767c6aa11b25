import ImgFacts
import ImgModel
import ImgWorkerMachine

/// Has previews made by the spare decoder, one at a time, while the other one decodes pictures. Belongs to
/// the decode thread, which asks it for the end from time to time.
final class PreviewDecoder {
  private struct Running {
    let order: PreviewOrder
    let decoder: DecoderProcess
    /// Bytes in the decoder's memory.
    let byteCount: Int
    let shownByteCount: Int
  }

  private let decoders: DecoderPool
  private var running: Running?

  init(decoders: DecoderPool) {
    self.decoders = decoders
  }

  var isBusy: Bool { running != nil }

  /// Starts to make a preview.
  ///
  /// - Returns: the end, if nothing was started; else it comes from ``takeEnd()``.
  func start(_ job: PreviewJob) -> Input? {
    guard running == nil, let decoder = decoders.reserveSpare() else {
      return Input(.previewed(job.order, .busy))
    }
    do throws(DecoderFault) {
      guard let byteCount = try decoder.take(job.part) else {
        return ended(job.order, .later, releasing: decoder)
      }
      switch decoder.prospect(byteCount: byteCount, shownByteCount: job.order.shownByteCount) {
      case .now(let shownByteCount):
        try decoder.startPreview(byteCount: shownByteCount, as: job.order.variant)
        running = Running(
          order: job.order, decoder: decoder, byteCount: byteCount, shownByteCount: shownByteCount)
        return nil
      case .later:
        decoder.drop(byteCount: byteCount)
        return ended(job.order, .later, releasing: decoder)
      case .none:
        decoder.drop(byteCount: byteCount)
        return ended(job.order, .never, releasing: decoder)
      }
    } catch {
      decoders.dropReserved()
      return Input(.previewed(job.order, .later))
    }
  }

  /// - Returns: `nil` while no preview is being made, or the decoder has not answered.
  func takeEnd() -> Input? {
    guard let running else { return nil }
    let (order, decoder) = (running.order, running.decoder)
    do throws(DecoderFault) {
      guard
        let answer = try decoder.previewAnswer(byteCount: running.byteCount, as: order.variant)
      else { return nil }
      self.running = nil
      switch answer {
      case .success(let made):
        decoders.release(decoder)
        return Input(
          .previewed(order, .made(made.thumbnails[0], shownByteCount: running.shownByteCount)),
          with: .thumbnails(made.bytes, upload: nil))
      case .failure(let failure):
        // More bytes may make it whole enough. They change no other reason.
        return ended(
          order, failure.code == .corruptImage ? .later : .never, releasing: decoder)
      }
    } catch {
      self.running = nil
      decoders.dropReserved()
      return Input(.previewed(order, .never))
    }
  }

  private func ended(
    _ order: PreviewOrder, _ end: PreviewEnd, releasing decoder: DecoderProcess
  ) -> Input {
    decoders.release(decoder)
    return Input(.previewed(order, end))
  }
}
