import ImgFetch
import ImgSystem
import ImgWorkerMachine

/// An event of the machine and what belongs to it that the machine does not see.
struct Input: Sendable {
  enum Payload: Sendable {
    case none
    /// The file beside an upload.
    case file(PassedFile)
    /// The bytes of the thumbnails that were made, in the order of the request's variants.
    ///
    /// - upload: those of the picture, if it was uploaded and its original is kept.
    case thumbnails([[UInt8]], upload: [UInt8]?)
    /// What the origin confirmed.
    case notModified(NotModified)
  }

  let event: WorkerMachine.Event
  let payload: Payload

  init(_ event: WorkerMachine.Event, with payload: Payload = .none) {
    self.event = event
    self.payload = payload
  }
}

/// An effect needs the payload of the event that led to it.
extension Input.Payload {
  var file: PassedFile {
    guard case .file(let file) = self else {
      preconditionFailure("an upload comes with a file")
    }
    return file
  }

  var thumbnails: [[UInt8]] {
    guard case .thumbnails(let bytes, _) = self else {
      preconditionFailure("thumbnails come with their bytes")
    }
    return bytes
  }

  /// `nil` if the picture was not uploaded.
  var upload: [UInt8]? {
    if case .thumbnails(_, let upload) = self { upload } else { nil }
  }

  var notModified: NotModified {
    guard case .notModified(let notModified) = self else {
      preconditionFailure("a renewal follows an answer of the origin")
    }
    return notModified
  }
}
