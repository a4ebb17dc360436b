import { answerOf, type CommandContext, type NodeClient, runningNode } from '@nodekeep/plugin-sdk'
import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { json } from './json.ts'

type TrashPage = NodeAnswers['GET /api/files/trash']
type Restored = NodeAnswers['POST /api/files/trash/restore']

/** `nodekeep trash [list|restore|empty]` */
export async function trash(context: CommandContext): Promise<void> {
  const [action = 'list'] = context.args
  if (action === 'list') return list(context)
  if (action === 'restore') return restore(context)
  if (action === 'empty') return empty(context)
  throw new Error(`"${action}" is no action. Use list, restore or empty.`)
}

async function list(context: CommandContext): Promise<void> {
  const { output } = context
  const items = await allItems(await runningNode(context))
  if (context.options.json === true) return output.table(items, '')
  output.table(
    items.map(({ id, path, type, size, deleted, maker }) => ({
      id,
      path: type === 'directory' ? `${path}/` : path,
      size: bytesText(size),
      deleted,
      by: maker?.name ?? maker?.kind ?? '',
    })),
    'The trash is empty.',
  )
}

async function restore(context: CommandContext): Promise<void> {
  const [, id, destination] = context.args
  if (id === undefined) throw new Error('Name what to put back by its id in "nodekeep trash list".')
  const node = await runningNode(context)
  const body = json({ id, ...(destination !== undefined && { destination }) })
  const { path } = await answerOf<Restored>(node.fetch('/api/files/trash/restore', body))
  context.output.state({ path })
}

async function empty(context: CommandContext): Promise<void> {
  const { output, options, confirm } = context
  const node = await runningNode(context)
  const items = await allItems(node)
  const bytes = items.reduce((sum, { size }) => sum + size, 0)
  const question = `Delete everything in the trash for good (${items.length}, ${bytesText(bytes)})?`
  if (options.yes !== true && !(await confirm(question))) {
    output.lines('Nothing was deleted.')
    return
  }
  await answerOf(node.fetch('/api/files/trash/empty', { method: 'POST' }))
  output.lines('The trash is empty.')
}

async function allItems(node: NodeClient): Promise<TrashPage['items']> {
  const items: TrashPage['items'] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ limit: '1000', ...(cursor !== '' && { cursor }) })
    const page: TrashPage = await answerOf<TrashPage>(node.fetch(`/api/files/trash?${query}`))
    items.push(...page.items)
    cursor = page.cursor
  }
  return items
}
