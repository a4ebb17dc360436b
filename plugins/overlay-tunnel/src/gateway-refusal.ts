/** The gateway has refused a request to its API. The message is a sentence of the gateway. */
export class GatewayRefusal extends Error {
  override readonly name = 'GatewayRefusal'
  /** The status of the answer. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
