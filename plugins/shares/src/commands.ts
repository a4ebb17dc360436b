import {
  answerOf,
  type CommandContext,
  defineCommands,
  parseByteSize,
  runningNode,
} from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'

const dayMs = 24 * 60 * 60 * 1000

/** The commands `nodekeep share` and `nodekeep shares …`. They ask the running node, as its owner. */
export default defineCommands({
  async share(context) {
    const { args, options, output } = context
    const node = await runningNode(context)
    const { share, url, note } = await answerOf<NodeAnswers['POST /api/shares']>(
      node.fetch('/api/shares', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ path: args[0], ...(await wishesIn(context)) }),
      }),
    )
    output.state({ address: url, id: share.id, path: share.path, kind: share.kind, expires: share.expires })
    if (note !== null && options.json !== true) output.lines('', note)
  },

  async list(context) {
    const node = await runningNode(context)
    const { shares } = await answerOf<NodeAnswers['GET /api/shares/all']>(node.fetch('/api/shares/all'))
    context.output.table(
      shares.map(({ id, user, name, path, kind, state, expires, used }) => ({
        id,
        user: user.username,
        path: path ?? name,
        kind,
        state,
        expires,
        'last use': used.last ?? 'never',
        downloads: used.downloads,
        uploads: used.uploads,
      })),
      'There are no links. `nodekeep share <path>` makes one.',
    )
  },

  async uses(context) {
    const node = await runningNode(context)
    const path = `/api/shares/${encodeURIComponent(context.args[0] ?? '')}/uses`
    const { uses } = await answerOf<NodeAnswers['GET /api/shares/{id}/uses']>(node.fetch(path))
    context.output.table(
      uses.map(({ kind, at, network, times, bytes, name, sender }) => ({
        at,
        kind,
        network,
        times,
        bytes,
        file: name ?? '',
        from: sender ?? '',
      })),
      'Nobody has used this link.',
    )
  },

  async revoke(context) {
    const { args, output } = context
    const node = await runningNode(context)
    const [id = ''] = args
    await answerOf(node.fetch(`/api/shares/${encodeURIComponent(id)}`, { method: 'DELETE' }))
    output.lines('The link has ended.')
  },
})

/** Reads the options of a new link. */
async function wishesIn({
  options,
  ask,
}: Pick<CommandContext, 'options' | 'ask'>): Promise<Record<string, unknown>> {
  if (options.drop === true && options.both === true) throw new Error('Choose one of --drop and --both.')
  const { days, maxFiles, maxBytes } = options
  const password = options.password === true ? await ask('Password of the link:') : undefined
  if (password === null || password === '') throw new Error('The link needs a password. Nothing was made.')
  return {
    kind: options.drop === true ? 'drop' : options.both === true ? 'both' : 'read',
    keepMetadata: options.keepMetadata === true,
    askSender: options.askSender === true,
    ...(days !== undefined && {
      expires: new Date(Date.now() + numberOf('--days', days) * dayMs).toISOString(),
    }),
    ...(maxFiles !== undefined && { maxFiles: numberOf('--max-files', maxFiles) }),
    ...(typeof maxBytes === 'string' && { maxBytes: bytesOf(maxBytes) }),
    ...(password !== undefined && { password }),
  }
}

function numberOf(option: string, text: string | true): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1 && number <= 1_000_000) return number
  throw new Error(`"${text}" is no number for ${option}. Write one such as 7.`)
}

function bytesOf(text: string): number {
  const bytes = parseByteSize(text)
  if (bytes !== undefined) return bytes
  throw new Error(`"${text}" is no size for --max-bytes. Write one such as 5GB.`)
}
