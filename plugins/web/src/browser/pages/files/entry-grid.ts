import type { VNode } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import type { EntryActions } from './entry-actions.ts'
import type { Folder } from './folder.ts'
import type { Entry } from './listing.ts'
import { contentAddress, folderAddress, pathIn } from './paths.ts'
import { mayHavePreview, type Previews } from './previews.ts'
import type { PublishedEntries } from './published-entries.ts'
import { SmallPreview } from './small-preview.ts'
import { rowHeight, useVisibleRows } from './visible-rows.ts'

interface EntryGridProps {
  readonly folder: Folder
  readonly actions: EntryActions
  readonly published: PublishedEntries
  readonly previews: Previews
}

/** Milliseconds between two letters of a name that is searched by typing. */
const typingMs = 700

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/**
 * The entries of the folder, as a grid (WAI-ARIA Authoring Practices, "Grid"). The grid keeps the focus and names the active row, so
 * that rows may come and go while a person scrolls.
 */
export function EntryGrid({ folder, actions, published, previews }: EntryGridProps): VNode {
  const { selection } = folder
  const entries = folder.entries.value ?? []
  const active = selection.active.value
  const selected = selection.entries.value
  const showsPreviews = useShowsPreviews(entries, previews)
  const typed = useRef({ text: '', at: 0 })
  const { first, count, measure, show, page } = useVisibleRows(actions.rows)
  // A new folder begins at its top.
  useEffect(() => actions.rows.current?.scrollTo(0, 0), [folder.path.value])

  /** Goes to the first entry whose name begins with the letters that were typed one after the other. */
  const search = (letter: string, at: number) => {
    const text = at - typed.current.at < typingMs ? typed.current.text + letter : letter
    typed.current = { text, at }
    const found = entries.findIndex(({ name }) => name.toLowerCase().startsWith(text.toLowerCase()))
    if (found >= 0) selection.only(found)
  }
  const press = (event: KeyboardEvent): boolean => {
    const { key, shiftKey, altKey } = event
    const command = event.ctrlKey || event.metaKey
    const entry = entries[active]
    const steps: Readonly<Record<string, number>> = {
      // The first key selects the first entry.
      ArrowDown: selected.length === 0 && active === 0 && !command && !shiftKey ? 0 : active + 1,
      ArrowUp: active - 1,
      PageDown: active + page(),
      PageUp: active - page(),
      Home: 0,
      End: entries.length - 1,
    }
    const target = steps[key]
    if (altKey) return false
    if (key === 'z' && command && !shiftKey) void actions.undo()
    else if (entry === undefined) return false
    else if (target !== undefined && command) selection.goTo(target)
    else if (target !== undefined && shiftKey) selection.upTo(target)
    else if (target !== undefined) selection.only(target)
    else if (key === ' ') selection.toggle(active)
    else if (key === 'Enter') actions.open(entry)
    else if (key === 'Escape') selection.none()
    else if (key === 'F2') void actions.rename(entry)
    else if (key === 'Delete') void actions.delete(selected.length > 0 ? selected : [entry])
    else if (key === 'a' && command) selection.all()
    // No name has a slash: it leads to the search.
    else if (key.length === 1 && key !== '/' && !command) search(key, event.timeStamp)
    else return false
    return true
  }
  const keyDown = (event: KeyboardEvent) => {
    if (!press(event)) return
    event.preventDefault()
    show(selection.active.value)
  }
  const click = (event: MouseEvent, index: number) => {
    const isBox = event.target instanceof HTMLInputElement
    if (event.shiftKey) selection.upTo(index)
    else if (event.ctrlKey || event.metaKey || isBox) selection.toggle(index)
    else selection.only(index)
    actions.rows.current?.focus({ preventScroll: true })
  }
  const row = (entry: Entry, index: number) => html`<div
    key=${entry.name}
    id=${`entry-${index}`}
    class=${`row ${entry.type} ${index === active ? 'active' : ''}`}
    role="row"
    aria-rowindex=${index + 2}
    aria-selected=${selection.has(entry)}
    style=${{ transform: `translateY(${index * rowHeight}px)` }}
    onClick=${(event: MouseEvent) => click(event, index)}
    onDblClick=${() => actions.open(entry)}
  >
    <${Cells} entry=${entry} folder=${folder} actions=${actions} published=${published} previews=${showsPreviews ? previews : null} isSelected=${selection.has(entry)} />
  </div>`
  return html`<div
    class="rows"
    role="grid"
    aria-label=${texts.files.list}
    aria-multiselectable="true"
    aria-rowcount=${entries.length + 1}
    aria-activedescendant=${entries.length > 0 ? `entry-${active}` : undefined}
    aria-busy=${folder.entries.value === null}
    ref=${actions.rows}
    tabindex="0"
    onScroll=${measure}
    onKeyDown=${keyDown}
  >
    <div role="rowgroup" class="head">
      <div class="row" role="row" aria-rowindex="1">
        <span role="columnheader" class="box">
          <input
            type="checkbox"
            tabindex="-1"
            aria-label=${texts.files.selectAll}
            disabled=${entries.length === 0}
            checked=${entries.length > 0 && selected.length === entries.length}
            onClick=${() => (selected.length === entries.length ? selection.none() : selection.all())}
          />
        </span>
        <span role="columnheader">${texts.files.name}</span>
        <span role="columnheader" class="size">${texts.files.size}</span>
        <span role="columnheader" class="changed">${texts.files.changed}</span>
      </div>
    </div>
    <div role="rowgroup" class="body" style=${{ height: `${entries.length * rowHeight}px` }}>
      ${entries.slice(first, first + count).map((entry, i) => row(entry, first + i))}
    </div>
  </div>`
}

/** Whether the rows have room for previews. It is there before the node has told whether it makes them, so that nothing moves. */
function useShowsPreviews(entries: readonly Entry[], { areThere }: Previews): boolean {
  const mayHave = useMemo(
    () => entries.some(({ name, type }) => type === 'file' && mayHavePreview(name)),
    [entries],
  )
  return mayHave && areThere.value !== false
}

interface CellsProps extends Omit<EntryGridProps, 'previews'> {
  readonly entry: Entry
  /** `null` if the rows have none. */
  readonly previews: Previews | null
  readonly isSelected: boolean
}

function Cells({ entry, folder, actions, published, previews, isSelected }: CellsProps): VNode {
  const { name, type, size, modified } = entry
  const path = pathIn(folder.path.value, name)
  const shown = shownName(name)
  const open = (event: MouseEvent) => {
    event.preventDefault()
    if (event.shiftKey || event.ctrlKey || event.metaKey) return
    actions.open(entry)
  }
  const address = type === 'directory' ? folderAddress(path) : contentAddress(path)
  return html`<span role="gridcell" class="box">
      <input type="checkbox" tabindex="-1" checked=${isSelected} aria-label=${texts.files.of(texts.files.select, shown)} />
    </span>
    <span role="gridcell" class="name">
      ${previews && html`<${SmallPreview} key=${modified} path=${path} isFile=${type === 'file'} previews=${previews} />`}${published.paths.value.has(path) && html`<span class="mark" role="img" aria-label=${texts.publishing.mark} title=${texts.publishing.mark}>●</span> `}<a href=${address} tabindex="-1" title=${shown} onClick=${open}><bdi>${shown}</bdi></a>
    </span>
    <span role="gridcell" class="size">${size === undefined ? '' : bytesText(size)}</span>
    <time role="gridcell" class="changed" datetime=${modified}>${dates.format(new Date(modified))}</time>`
}
