import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted } from './refusal.ts'
import * as texts from './texts.ts'

/** A method and a path of the node. Names in braces stand for parts of the path: `DELETE /api/users/{uuid}`. */
type Route = keyof NodeAnswers
/** A route without names. */
export type PlainRoute = Exclude<Route, RouteWithNames>
type RouteWithNames = Extract<Route, `${string}{${string}`>
type NamesIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never

interface Sent {
  readonly query?: Readonly<Record<string, string>>
  /** It is sent as JSON. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

interface SentWithNames<R> extends Sent {
  /** The values for the names in the path. */
  readonly names: Readonly<Record<NamesIn<R>, string>>
}

/**
 * Sends a request, and resolves to the JSON of the answer.
 *
 * @throws Refusal with the words of the node; TypeError if it does not answer
 */
export async function request<R extends RouteWithNames>(
  page: PageContext,
  route: R,
  sent: SentWithNames<R>,
): Promise<NodeAnswers[R]>
export async function request<R extends PlainRoute>(
  page: PageContext,
  route: R,
  sent?: Sent,
): Promise<NodeAnswers[R]>
export async function request<R extends Route>(
  page: PageContext,
  route: R,
  {
    query,
    body,
    headers,
    signal,
    names = {},
  }: Sent & { readonly names?: Readonly<Record<string, string>> } = {},
): Promise<NodeAnswers[R]> {
  const [method = '', template = ''] = route.split(' ')
  const path = template.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(names[name] ?? ''))
  const answer = await page.fetch(query === undefined ? path : `${path}?${new URLSearchParams(query)}`, {
    method,
    ...(signal && { signal }),
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return (await accepted(answer)).json()
}

/** Returns the reason of a failure of such a request, or of `fetch`, for people. */
export function reasonOf(error: unknown): string {
  return error instanceof TypeError || !(error instanceof Error) ? texts.shell.requestFailed : error.message
}
