import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { UsageBar } from '../../usage-bar.ts'
import type { Folder } from './folder.ts'
import { useFolderAnswer } from './folder-answer.ts'
import { folderAddress, pathIn } from './paths.ts'

type Usage = NodeAnswers['GET /api/files/usage']

/** Milliseconds after which the node is asked again while it is still counting. */
const countingMs = 2000

const words = texts.usage

/** How much room the folder that is shown takes, and its largest folders, to walk into. */
export function FolderUsage({ folder, page }: { folder: Folder; page: PageContext }): VNode {
  const isOpen = useSignal(false)
  const { answer, fault } = useFolderAnswer<Usage>(folder, {
    isAsked: true,
    ask: (path, signal) => request(page, 'GET /api/files/usage', { query: { path }, signal }),
    againMs: ({ isComplete }) => (isComplete ? null : countingMs),
  })
  const toggle = ({ currentTarget }: Event) => {
    isOpen.value = (currentTarget as HTMLDetailsElement).open
  }
  const room = answer && roomOf(answer)
  return html`<details class="folded usage" onToggle=${toggle}>
    <summary>
      ${words.title}${answer && html`: <span class="state">${sentenceOf(answer)}</span>`}
      ${room && answer && html`<${UsageBar} bytes=${answer.bytes} space=${room} />`}
    </summary>
    ${isOpen.value && fault !== '' && html`<p class="fault" role="alert">${fault}</p>`}
    ${isOpen.value && answer && html`<${Largest} usage=${answer} /><p class="hint">${keptText(answer)}</p>`}
  </details>`
}

/** The largest folders, each with its share of the folder that is shown. */
function Largest({ usage: { path, bytes, folders } }: { usage: Usage }): VNode {
  // A mount may be deeper than the folders beside it.
  const start = pathIn(path, '').length
  if (folders.length === 0) return html`<p class="hint">${words.noFolders}</p>`
  return html`<ul aria-label=${words.largest}>
    ${folders.map(
      (one) => html`<li key=${one.path}>
        <a href=${folderAddress(one.path)}><bdi>${shownName(one.path.slice(start))}</bdi></a>
        <span class="size">${bytesText(one.bytes)}</span>
        <span class="count">${texts.files.count(one.entries)}</span>
        <${UsageBar} bytes=${one.bytes} space=${{ free: bytes - one.bytes, total: bytes }} />
      </li>`,
    )}
  </ul>`
}

/** The room that the person may use: that of the quota, without one that of the storage. */
function roomOf({ quota, space }: Usage): Usage['space'] {
  return quota === null ? space : { free: Math.max(0, quota.bytes - quota.taken), total: quota.bytes }
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
