/**
 * Lets an element have the window for itself: everything beside it cannot be used meanwhile, but for the notices, which offer to take a change
 * back. That is why it is no modal dialog.
 *
 * @returns a function that ends this, and gives the focus back
 */
export function takeWindow(element: HTMLElement): () => void {
  const before = document.activeElement
  const made: HTMLElement[] = []
  for (let inner: HTMLElement = element; inner.parentElement !== null; inner = inner.parentElement) {
    for (const other of inner.parentElement.children) {
      const stays =
        other === inner || other.matches('.notices, script, link') || !(other instanceof HTMLElement)
      if (stays || other.inert) continue
      other.inert = true
      made.push(other)
    }
    if (inner.parentElement === document.body) break
  }
  element.focus({ preventScroll: true })
  return () => {
    for (const other of made) other.inert = false
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
  }
}
