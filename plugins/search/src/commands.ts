import { answerOf, defineCommands, runningNode } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'

type Page = NodeAnswers['GET /api/search']
type Entry = Page['entries'][number]

/** Entries of one request. */
const pageSize = 100

/** The most entries that are printed. */
const mostEntries = 1000

/** The commands `nodekeep search …`. They ask the running node, as its owner. */
export default defineCommands({
  async find(context) {
    const { args, options, output } = context
    const limit = limitOf(options.limit)
    const node = await runningNode(context)
    const query = new URLSearchParams({ q: args.join(' ') })
    if (typeof options.in === 'string') query.set('in', options.in)
    if (typeof options.type === 'string') query.set('type', options.type)
    const found: Entry[] = []
    let page: Page
    do {
      query.set('limit', String(Math.min(pageSize, limit - found.length)))
      page = await answerOf<Page>(node.fetch(`/api/search?${query}`))
      found.push(...page.entries)
      query.set('after', page.next ?? '')
    } while (page.next !== null && found.length < limit)
    if (options.json === true) return output.table(found as unknown as Record<string, unknown>[], '')
    output.table(
      found.map(({ path, size, modified, snippet }) => ({
        path,
        size,
        modified,
        text: snippet?.map(({ text }) => text).join('') ?? '',
      })),
      'Nothing is found.',
    )
    if (!page.isComplete)
      output.lines(
        '',
        `The search is not complete yet: ${page.waiting} files cannot be found by their words so far.`,
      )
  },

  async status(context) {
    const node = await runningNode(context)
    const status = await answerOf<NodeAnswers['GET /api/search/status']>(node.fetch('/api/search/status'))
    const { failed, ...others } = status
    if (context.options.json === true) return context.output.state(status)
    const reasons = Object.entries(failed).map(([reason, count]) => `${count} ${reason}`)
    context.output.state({ ...others, failed: reasons.join(', ') || 'none' })
  },
})

function limitOf(text: string | true | undefined): number {
  const limit = text === undefined ? 20 : Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostEntries) return limit
  throw new Error(`"--limit" must be a whole number from 1 to ${mostEntries}.`)
}
