/** A `ref` that moves the focus to an element when it appears. */
export function focusAtFirst(element: HTMLElement | null): void {
  element?.focus()
}
