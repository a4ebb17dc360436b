import { accepted } from '../refusal.ts'

/**
 * Sends JSON to the node, before anybody is signed in, and resolves to the JSON of the answer.
 *
 * @throws Refusal if the node refuses
 */
export async function post<T>(path: string, body: object, method: 'POST' | 'PATCH' = 'POST'): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  return (await accepted(await fetch(path, { method, headers, body: JSON.stringify(body) }))).json()
}
