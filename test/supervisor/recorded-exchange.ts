/** A message between a supervisor and its node. */
export type Message = Readonly<Record<string, unknown>> & { readonly nodekeep: string }

/** One run of a node: its start, the messages in their order, and its exit code. */
interface Exchange {
  readonly version: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly messages: readonly { readonly to: 'node' | 'supervisor'; readonly message: Message }[]
  readonly code: number
}

/** Returns the runs of nodes in a recording, which has one JSON object a line. */
export function exchangesIn(recording: string): Exchange[] {
  const exchanges: Exchange[] = []
  for (const line of recording.trim().split('\n')) {
    const { start, args, env, to, message, exit } = JSON.parse(line)
    if (start !== undefined) exchanges.push({ version: start, args, env, messages: [], code: -1 })
    const last = exchanges.at(-1)
    if (last === undefined) continue
    if (to !== undefined) exchanges.splice(-1, 1, { ...last, messages: [...last.messages, { to, message }] })
    if (exit !== undefined) exchanges.splice(-1, 1, { ...last, code: exit })
  }
  return exchanges
}

/** Returns the last content of a file in a recording. */
export function recordedFile(recording: string, name: string): unknown {
  const lines = recording.trim().split('\n')
  return lines.map((line) => JSON.parse(line)).findLast(({ file }) => file === name)?.content
}
