import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import type { Entry } from './listing.ts'
import { type EntryMarks, markKinds } from './marked-entries.ts'
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
  const shownMarks = markKinds.filter(({ of }) => marks[of].paths.value.has(path))
  return html`${shownMarks.map(({ of, text, icon: name }) => html`<span key=${of} class="mark" role="img" aria-label=${text} title=${text}>${icon(name)}</span>`)}<a href=${address} tabindex="-1" draggable=${false} title=${shown}><bdi>${shown}</bdi></a>`
}
