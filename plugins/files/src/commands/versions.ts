import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { answerOf, type CommandContext, messageOf, type NodeClient, runningNode } from '@nodekeep/plugin-sdk'
import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { json } from './json.ts'

type VersionsPage = NodeAnswers['GET /api/files/versions']

/** `nodekeep versions PATH`, with `--restore ID` or `--save ID FILE` */
export async function versions(context: CommandContext): Promise<void> {
  const { args, options, output } = context
  const [path = '', file] = args
  const { restore, save } = options
  if (restore !== undefined && save !== undefined) throw new Error('Use one of "--restore" and "--save".')
  if ((save !== undefined) !== (file !== undefined))
    throw new Error('Use "--save" with a version and a new file.')
  const node = await runningNode(context)
  if (restore !== undefined) {
    await answerOf(node.fetch('/api/files/versions/restore', json({ path, id: restore })))
    output.lines(`"${path}" has the content of this version again. What it had is a version now.`)
  } else if (typeof save === 'string' && file !== undefined) {
    const query = new URLSearchParams({ path, id: save })
    await saveAs(file, await node.fetch(`/api/files/versions/read?${query}`), context.signal)
    output.lines(`The version is in ${file}.`)
  } else await list(context, node, path)
}

async function list({ options, output }: CommandContext, node: NodeClient, path: string): Promise<void> {
  const all: VersionsPage['versions'] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ path, limit: '1000', ...(cursor !== '' && { cursor }) })
    const page: VersionsPage = await answerOf<VersionsPage>(node.fetch(`/api/files/versions?${query}`))
    all.push(...page.versions)
    cursor = page.cursor
  }
  if (options.json === true) return output.table(all, '')
  output.table(
    all.map(({ id, size, modified, replaced, maker }) => ({
      id,
      size: bytesText(size),
      modified,
      replaced,
      by: maker?.name ?? maker?.kind ?? '',
    })),
    'The file has no former contents.',
  )
}

async function saveAs(file: string, answer: Response, signal: AbortSignal): Promise<void> {
  if (!answer.ok || answer.body === null) {
    const { message } = (await answer.json()) as { readonly message?: string }
    throw new Error(message)
  }
  const handle = await open(file, 'wx').catch((error) => {
    if (error.code === 'EEXIST') throw new Error(`There is "${file}" already. Name a new file.`)
    throw new Error(`"${file}" cannot be written: ${messageOf(error)}`)
  })
  try {
    await pipeline(Readable.fromWeb(answer.body as never), handle.createWriteStream(), { signal })
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}
