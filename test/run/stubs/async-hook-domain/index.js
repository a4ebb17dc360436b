/** What tap asks of a domain, and nothing that catches errors. */
export class Domain {
  destroyed = false

  destroy() {
    this.destroyed = true
  }
}
