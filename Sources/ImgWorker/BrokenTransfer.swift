import ImgFetch
import ImgModel

/// A transfer that has failed, with the leases that are to be told so.
struct BrokenTransfer {
  let leases: [LeaseID]
  let failure: Failure
  let wasRedirected: Bool
}

/// A partial body on its way into the store, for the next transfer of the picture.
struct PartialPut: Sendable {
  /// By the lease that began it.
  let transfer: LeaseID
  let name: PictureName
  let partial: PartialBody
  /// What is given back when it is there.
  let charge: BodyCharge
}
