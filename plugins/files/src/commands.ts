import { answerOf, defineCommands, type NodeClient, runningNode } from '@nodekeep/plugin-sdk'
import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { trash } from './commands/trash.ts'
import { versions } from './commands/versions.ts'

type OfFolder = NodeAnswers['GET /api/files/usage']
type OfAll = NodeAnswers['GET /api/files/usage/all']
type Space = OfFolder['space']

/** The sentence of an answer that is not complete. */
const counting = 'The node is still counting. Until then, the numbers are too small.'

/** The commands `nodekeep usage`, `nodekeep quota`, `nodekeep trash` and `nodekeep versions`. They ask the running node, as its owner. */
export default defineCommands({
  trash,
  versions,
  async quota(context) {
    const { args, options, output } = context
    const [name = '', quota] = args
    const node = await runningNode(context)
    const { users } = await usageOf<OfAll>(node, '/api/files/usage/all')
    const user = users.find(({ uuid, username }) => uuid === name || username === name)
    if (user === undefined) throw new Error(`There is no user "${name}". "nodekeep usage --all" shows all.`)
    const { uuid, username, bytes, kept } = user
    const now =
      quota === undefined
        ? user
        : await answerOf<NodeAnswers['PUT /api/files/quotas/{uuid}']>(
            node.fetch(`/api/files/quotas/${uuid}`, {
              method: 'PUT',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ quota }),
            }),
          )
    const { hasOwnQuota } = now
    if (options.json === true)
      return output.state({ uuid, username, bytes, kept, quota: now.quota, hasOwnQuota })
    output.state({ user: username, size: bytesText(bytes), ...shownKept(kept), quota: quotaText(now) })
  },

  async usage(context) {
    const { args, options, output } = context
    const [path = '/'] = args
    if (options.all === true && args.length > 0)
      throw new Error('"--all" is about all files. Leave out the path.')
    const node = await runningNode(context)
    const isJson = options.json === true
    if (options.all === true) {
      const all = await usageOf<OfAll>(node, '/api/files/usage/all')
      if (isJson) return output.state(all)
      output.table(
        all.users.map((user) => ({
          user: user.username,
          ...shown(user),
          ...shownKept(user.kept),
          quota: quotaText(user),
        })),
        'There are no users.',
      )
      output.lines('')
      output.table(
        all.mounts.map(({ mount, storage, bytes, entries, space }) => ({
          mount,
          storage,
          ...shown({ bytes, entries }),
          ...shownSpace(space),
        })),
        'There are no mounts.',
      )
      if (all.users.some(({ isComplete }) => !isComplete)) output.lines('', counting)
      return
    }
    const usage = await usageOf<OfFolder>(node, `/api/files/usage?${new URLSearchParams({ path })}`)
    if (isJson) return output.state(usage)
    const { bytes, entries, folders, space, kept, quota, isComplete } = usage
    output.state({
      path: usage.path,
      ...shown({ bytes, entries }),
      ...(space && shownSpace(space)),
      ...shownKept(kept),
      ...(quota && { quota: `${bytesText(quota.taken)} of ${bytesText(quota.bytes)}` }),
    })
    if (folders.length > 0) {
      output.lines('')
      output.table(
        folders.map(({ path, ...of }) => ({ folder: path, ...shown(of) })),
        '',
      )
    }
    if (!isComplete) output.lines('', counting)
  },
})

function usageOf<T>(node: NodeClient, path: string): Promise<T> {
  return answerOf<T>(node.fetch(path))
}

function shown({ bytes, entries }: { readonly bytes: number; readonly entries: number }) {
  return { size: bytesText(bytes), entries }
}

function shownKept({ trash, versions }: OfFolder['kept']) {
  return { trash: bytesText(trash), versions: bytesText(versions) }
}

function shownSpace(space: Space) {
  return { free: space && bytesText(space.free), total: space && bytesText(space.total) }
}

function quotaText({ quota, hasOwnQuota }: { readonly quota: number | null; readonly hasOwnQuota: boolean }) {
  const size = quota === null ? 'none' : bytesText(quota)
  return hasOwnQuota ? size : `${size} (default)`
}
