import CLinux

/// The namespaces (namespaces(7)) that the process does not share with others.
struct Namespaces {
  private(set) var hasOwnUsers = false
  private(set) var hasOwnNetwork = false

  /// Leaves the network and, to be allowed to do that without privileges, the users. Some systems
  /// refuse it, so this does as much as it can.
  static func leave() -> Namespaces {
    let network = CInt(IMG_CLONE_NEWNET) | CInt(IMG_CLONE_NEWIPC)
    var namespaces = Namespaces()
    if img_unshare(CInt(IMG_CLONE_NEWUSER) | network) == 0 {
      namespaces.hasOwnUsers = true
      namespaces.hasOwnNetwork = true
    } else {
      // Works for root where user namespaces are disabled.
      namespaces.hasOwnNetwork = img_unshare(network) == 0
    }
    return namespaces
  }
}
