/** An answer of the node that refuses a request. The message is for people. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * Returns an answer that is not an error.
 *
 * @throws Refusal with the message of the node
 */
export async function accepted(answer: Response): Promise<Response> {
  if (answer.ok) return answer
  throw refusalOf(answer.status, await answer.text())
}

/** Reads the error body of the node: `{ "error": true, "message", "code" }`. */
export function refusalOf(status: number, body: string): Refusal {
  try {
    const { message } = JSON.parse(body) as { message?: unknown }
    if (typeof message === 'string') return new Refusal(status, message)
  } catch {
    // A proxy may answer with a page.
  }
  return new Refusal(status, `The node answered with the status ${status}.`)
}
