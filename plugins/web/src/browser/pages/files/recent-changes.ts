import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { makerText } from '../../maker-text.ts'
import { request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText, shortDateText } from '../../times.ts'
import type { Change } from './changes-feed.ts'
import type { Folder } from './folder.ts'
import { useFolderAnswer } from './folder-answer.ts'
import { pathIn } from './paths.ts'

/** Changes that the node is asked for, and lines that are shown. A line has the changes of a group. */
const mostChanges = 200
const mostLines = 20

const words = texts.files.recent

/** The newest changes of the folder that is shown, and who made them. */
export function RecentChanges({ folder, page }: { folder: Folder; page: PageContext }): VNode {
  const { answer: changes, fault } = useFolderAnswer<readonly Change[]>(folder, {
    async ask(path, signal) {
      const query = { path, limit: String(mostChanges) }
      return (await request(page, 'GET /api/files/changes/newest', { query, signal })).changes
    },
  })
  const path = folder.path.value
  return html`<section class="recent" aria-label=${words.title}>
    <h3>${words.title}</h3>
    ${fault !== '' && html`<p class="fault" role="alert">${fault}</p>`}
    ${changes === null && fault === '' && html`<p class="hint">${texts.shell.loading}</p>`}
    ${changes?.length === 0 && html`<p class="hint">${words.none}</p>`}
    <ul>
      ${linesOf(changes ?? []).map((line) => {
        const what = whatText(line, path, changes ?? [])
        return html`<li key=${`${line[0].at} ${line[0].path}`}>
          <span class="what" title=${what}><bdi>${what}</bdi></span>
          <span class="who"><bdi>${makerText(line[0])}</bdi></span>
          <time dateTime=${line[0].at} title=${dateText(line[0].at)}>${shortDateText(line[0].at)}</time>
        </li>`
      })}
    </ul>
  </section>`
}

/** The changes of a group by one maker, newest first. */
type Line = readonly [Change, ...Change[]]

function linesOf(changes: readonly Change[]): Line[] {
  // A program chooses its groups, and must not hide in that of another one.
  const groups = Map.groupBy(changes, ({ group, by, maker }) =>
    group === undefined ? Symbol('a change without a group') : JSON.stringify([group, by, maker]),
  )
  return ([...groups.values()] as unknown as Line[]).slice(0, mostLines)
}

function whatText(line: Line, folder: string, all: readonly Change[]): string {
  const [{ op, path, source = '' }] = line
  const inside = pathIn(folder, '')
  const short = (of: string) => shownName(of.startsWith(inside) ? of.slice(inside.length) : of)
  if (line.length === 1)
    return op === 'move' ? words.moved(short(source), short(path)) : words.one(words.done[op], short(path))
  const isSame = line.every((change) => change.op === op)
  const others = line.length - 1
  // Older changes of the group may be missing in the answer.
  const isWhole = all.length < mostChanges || line.at(-1) !== all.at(-1)
  const count = isWhole ? others.toLocaleString() : words.atLeast(others)
  return words.several(words.done[isSame ? op : 'mixed'], short(path), count)
}
