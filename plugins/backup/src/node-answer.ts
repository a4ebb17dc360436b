/**
 * Returns what a node has answered to a command.
 *
 * @throws Error with the node's message
 */
export async function answerOf<T>(answer: Promise<Response>): Promise<T> {
  const response = await answer
  const body = (await response.json()) as T & { readonly message?: string }
  if (!response.ok) throw new Error(body.message)
  return body
}
