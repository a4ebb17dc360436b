import * as texts from './texts.ts'

/** An answer of the node that refuses a request. The message is for people. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Whether a proxy answers for a node that is away. The node itself answers with such a status in JSON. */
export function isOfProxy(status: number, type: string | null): boolean {
  return status >= 502 && status <= 504 && !type?.startsWith('application/json')
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

/** Resolves to an answer, to `null` while the plugin of its route does not run. */
export function ifRunning<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error: unknown) => {
    if (error instanceof Refusal && [404, 503].includes(error.status)) return null
    throw error
  })
}

/** Reads the error body of the node: `{ "error": true, "message", "code" }`. */
export function refusalOf(status: number, body: string): Refusal {
  try {
    const { message } = JSON.parse(body) as { message?: unknown }
    if (typeof message === 'string') return new Refusal(status, message)
  } catch {
    // A proxy may answer with a page.
  }
  return new Refusal(status, texts.statusOnly(status))
}
