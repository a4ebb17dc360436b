/** The members of a domain that tap uses. They catch no errors. */
export class Domain {
  destroyed = false

  destroy() {
    this.destroyed = true
  }
}
