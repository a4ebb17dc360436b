import { signal } from '@preact/signals'

interface ViewedFileOptions {
  /** Returns the address of a file that is open, such as `#/files/trip/photo.jpg`. */
  addressOf(path: string): string
  /** Returns the address without it. */
  closedAddressOf(path: string): string
}

/**
 * The file that fills the window. The address of the page names it, so that it can be linked to, "Back" closes it, and a reload shows it
 * again.
 */
export class ViewedFile {
  /** The path of the file; `null` while none is open. */
  readonly path = signal<string | null>(null)
  /** Set while something in the file is not saved. It asks the person, and resolves to whether the file may go away. */
  mayLeave: (() => Promise<boolean>) | null = null
  readonly #options: ViewedFileOptions
  /** Whether the entry of the history before this one is the page without the file. */
  #hasPageBefore = false

  constructor(options: ViewedFileOptions) {
    this.#options = options
  }

  open(path: string): void {
    this.#hasPageBefore = true
    location.hash = this.#options.addressOf(path)
  }

  /** Shows another file. "Back" still closes the viewer. */
  async step(path: string | null): Promise<void> {
    if (path !== null && (await this.#isFree())) location.replace(this.#options.addressOf(path))
  }

  async close(): Promise<void> {
    const { value: path } = this.path
    if (path === null || !(await this.#isFree())) return
    if (this.#hasPageBefore) history.back()
    else location.replace(this.#options.closedAddressOf(path))
    this.#hasPageBefore = false
  }

  /**
   * Follows the address.
   *
   * @param path the file that it names; `null` if it names none
   * @returns whether the page may follow, too: otherwise the address is put back, and the person is asked
   */
  follow(path: string | null): boolean {
    const before = this.path.value
    if (before !== null && path !== before && this.mayLeave !== null) {
      this.open(before)
      void this.close()
      return false
    }
    if (path === null) this.#hasPageBefore = false
    this.path.value = path
    return true
  }

  async #isFree(): Promise<boolean> {
    if (this.mayLeave === null) return true
    if (!(await this.mayLeave())) return false
    this.mayLeave = null
    return true
  }
}
