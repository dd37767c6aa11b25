import ImgModel
import ImgWire

/// Pictures that clients upload: decoded like an original that the store has, without a look-up and
/// without a transfer. Each is an item of its own, which no other request joins.
extension Scheduler {
  mutating func viewerUploaded(
    _ viewer: ViewerID, _ picture: UploadedPicture, options: RequestOptions
  ) {
    if let refusal = refusal(of: picture) {
      effects += [.release(picture.file), .answer(viewer, .failed(refusal), nil)]
      return
    }
    let waiter = Waiter(who: .viewer(viewer), expiry: options.expiry)
    let url = ImageURL(uploaded: picture.file.rawValue)
    let key = WorkItem.Key(
      name: PictureName(url),
      request: ThumbnailRequest(
        variant: options.variant, isLenient: options.isLenient, keep: options.keep))
    let item = add(key, url, waiter, picture: picture)
    viewers.wait(viewer, name: nil, for: item.id, reportAt: nil)
    awaitDecode(item.id)
    reviewSources()
  }

  /// Why it is not taken; `nil` when it is.
  private func refusal(of picture: UploadedPicture) -> Failure? {
    if isDraining { return Self.stopping }
    guard picture.byteCount <= limits.maxBodyByteCount else {
      return Failure(
        stage: .fetch, code: .tooLarge,
        detail: "\(picture.byteCount) bytes; \(limits.maxBodyByteCount) are the most")
    }
    do throws(Failure) {
      _ = try picture.url.map { (url) throws(Failure) in try ImageURL(parsing: url) }
      return nil
    } catch {
      return error
    }
  }
}
