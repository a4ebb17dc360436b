import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { type IconName, icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import type { Entry } from './listing.ts'
import type { EntryMarks } from './marked-entries.ts'
import { contentAddress, folderAddress } from './paths.ts'

interface EntryLinkProps {
  readonly entry: Entry
  readonly path: string
  readonly marks: EntryMarks
}

/** The name of an entry, which opens it. The row or tile is what a person drags, not its link. */
export function EntryLink({ entry: { name, type }, path, marks }: EntryLinkProps): VNode {
  const shown = shownName(name)
  const address = type === 'directory' ? folderAddress(path) : contentAddress(path)
  const mark = (text: string, name: IconName) =>
    html`<span class="mark" role="img" aria-label=${text} title=${text}>${icon(name)}</span>`
  const isLinked = marks.linked.paths.value.has(path)
  const isPublished = marks.published.paths.value.has(path)
  return html`${isLinked && mark(texts.links.mark, 'share-2')}${isPublished && mark(texts.publishing.mark, 'link')}<a href=${address} tabindex="-1" draggable=${false} title=${shown}><bdi>${shown}</bdi></a>`
}
