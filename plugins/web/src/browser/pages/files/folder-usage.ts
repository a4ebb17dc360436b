import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { UsageBar } from '../../usage-bar.ts'
import type { Folder } from './folder.ts'
import { type FolderAnswer, useFolderAnswer } from './folder-answer.ts'
import { folderAddress, pathIn } from './paths.ts'

export type Usage = NodeAnswers['GET /api/files/usage']

/** Milliseconds after which the node is asked again while it is still counting. */
const countingMs = 2000

const words = texts.usage

/**
 * Asks the node how much room a folder takes, and again after changes.
 *
 * @param path default: the folder that is shown; `null` asks for nothing
 */
export function useUsage(folder: Folder, page: PageContext, path?: string | null): FolderAnswer<Usage> {
  return useFolderAnswer<Usage>(folder, {
    path,
    ask: (path, signal) => request(page, 'GET /api/files/usage', { query: { path }, signal }),
    againMs: ({ isComplete }) => (isComplete ? null : countingMs),
  })
}

/** How much room the folder that is shown takes, and its largest folders, to walk into. */
export function FolderUsage({ usage: { answer, fault } }: { usage: FolderAnswer<Usage> }): VNode {
  const room = answer && roomOf(answer)
  return html`<section class="usage" aria-label=${words.title}>
    <h3>${words.title}</h3>
    <p class="state">${answer && sentenceOf(answer)}</p>
    ${room && answer && html`<${UsageBar} bytes=${answer.bytes} space=${room} legend=${legendOf(answer)} />`}
    <p class="fault" role="alert">${fault}</p>
    ${answer && html`<${Largest} usage=${answer} /><p class="hint">${keptText(answer)} <a href="#/trash">${words.openTrash}</a></p>`}
  </section>`
}

/** The largest folders, each with its share of the folder that is shown. */
function Largest({ usage: { path, bytes, folders } }: { usage: Usage }): VNode {
  // A mount may be deeper than the folders beside it.
  const start = pathIn(path, '').length
  if (folders.length === 0) return html`<p class="hint">${words.noFolders}</p>`
  return html`<ul aria-label=${words.largest}>
    ${folders.map(
      (one) => html`<li key=${one.path}>
        <a class="alone" href=${folderAddress(one.path)}><bdi>${shownName(one.path.slice(start))}</bdi></a>
        <span class="size">${bytesText(one.bytes)}</span>
        <${UsageBar} bytes=${one.bytes} space=${{ free: bytes - one.bytes, total: bytes }} />
      </li>`,
    )}
  </ul>`
}

/** The room that the person may use: that of the quota, without one that of the storage. */
function roomOf({ quota, space }: Usage): Usage['space'] {
  return quota === null ? space : { free: Math.max(0, quota.bytes - quota.taken), total: quota.bytes }
}

function legendOf({ quota }: Usage): Parameters<typeof UsageBar>[0]['legend'] {
  const { folder: own, otherThings, restOfQuota } = words.legend
  return { own, others: quota === null ? otherThings : restOfQuota }
}

function keptText({ kept: { trash, versions } }: Usage): string {
  return words.kept(bytesText(trash), bytesText(versions))
}

function sentenceOf({ bytes, entries, isComplete, space, quota }: Usage): string {
  return [
    words.taken(bytesText(bytes), texts.files.count(entries)),
    ...(isComplete ? [] : [words.counting]),
    ...(quota === null ? [] : [words.quota(bytesText(quota.taken), bytesText(quota.bytes))]),
    ...(quota !== null || space === null ? [] : [words.free(bytesText(space.free), bytesText(space.total))]),
  ].join(', ')
}
