/**
 * Thrown by a decoder: the content cannot be decoded, and never will be.
 *
 * @example throw new Refusal('The PDF is encrypted.')
 */
export class Refusal extends Error {
  /** @param message a sentence for people, which says what is wrong with the content. The node keeps 200 characters */
  constructor(message: string) {
    super(message)
    this.name = 'Refusal'
  }
}
