import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { narrow, useMedia } from '../../media.ts'
import { texts } from '../../texts.ts'
import { startEntryDrag } from './entry-drag.ts'
import { type Column, columns, orderAfter } from './entry-order.ts'
import type { EntryParts } from './entry-parts.ts'
import { EntryRow } from './entry-row.ts'
import { EntryTile } from './entry-tile.ts'
import type { ListMenu } from './list-menu.ts'
import type { Entry } from './listing.ts'
import { type PressedEntry, useLongPress } from './long-press.ts'
import { type RowSizes, useVisibleRows } from './visible-rows.ts'

interface EntryListProps {
  readonly parts: EntryParts
  readonly menu: ListMenu
}

/** Milliseconds between two letters of a name that is searched by typing. */
const typingMs = 700

/** The sizes of rows, as in `page.css`. */
const sizes = {
  list: { height: 48, head: 40, entryWidth: null, margin: 10 },
  narrowList: { height: 60, head: 0, entryWidth: null, margin: 10 },
  grid: { height: 192, head: 0, entryWidth: 156, margin: 2 },
} satisfies Readonly<Record<string, RowSizes>>

/**
 * The entries of the folder, as a list or as tiles (WAI-ARIA Authoring Practices, "Grid"). The element keeps the focus and names the
 * active entry, so that entries may come and go while a person scrolls.
 */
export function EntryList({ parts, menu }: EntryListProps): VNode {
  const { folder, actions, settings } = parts
  const { selection } = folder
  const entries = folder.entries.value ?? []
  const isListed = folder.entries.value !== null
  const isGrid = settings.layout.value === 'grid'
  const isNarrow = useMedia(narrow)
  const size: RowSizes = isGrid ? sizes.grid : isNarrow ? sizes.narrowList : sizes.list
  const { first, count, inRow, measure, show, page } = useVisibleRows(actions.rows, size)
  const typed = useRef({ text: '', at: 0 })
  // A folder begins at its top, or where the person was in it.
  useEffect(() => {
    actions.rows.current?.scrollTo(0, 0)
    if (isListed) show(selection.active.peek())
  }, [folder.path.value, isListed, isGrid])

  const at = (target: EventTarget | null): PressedEntry | null => {
    const element = (target as Element).closest<HTMLElement>('[data-index]')
    const index = Number(element?.dataset.index)
    const entry = entries[index]
    return element === null || entry === undefined ? null : { element, entry, index }
  }
  const openMenu = ({ element, entry, index }: PressedEntry, place?: { x: number; y: number }) => {
    if (!selection.has(entry)) selection.only(index)
    menu.ofSelection(place ?? element)
  }
  const press = useLongPress(at, openMenu)

  /** Goes to the first entry whose name begins with the letters that were typed one after the other. */
  const search = (letter: string, now: number) => {
    const text = now - typed.current.at < typingMs ? typed.current.text + letter : letter
    typed.current = { text, at: now }
    const found = entries.findIndex(({ name }) => name.toLowerCase().startsWith(text.toLowerCase()))
    if (found >= 0) selection.only(found)
  }
  const pressKey = (event: KeyboardEvent): boolean => {
    const { key, shiftKey, altKey } = event
    const command = event.ctrlKey || event.metaKey
    const { value: active } = selection.active
    const { value: selected } = selection.entries
    const entry = entries[active]
    const step = stepOf(key, { active, inRow, page: page() * inRow, last: entries.length - 1 })
    // The first key selects the first entry.
    const isFirst = selected.length === 0 && active === 0 && !command && !shiftKey && step === inRow
    const target = isFirst ? 0 : step
    if (altKey && key === 'ArrowUp') actions.openParent()
    else if (altKey) return false
    else if (key === 'z' && command && !shiftKey) void actions.undo()
    else if (entry === undefined) return false
    else if (key === 'ContextMenu' || (key === 'F10' && shiftKey)) openActiveMenu()
    else if (target !== undefined && command) selection.goTo(target)
    else if (target !== undefined && shiftKey) selection.upTo(target)
    else if (target !== undefined) selection.only(target)
    else if (key === ' ') selection.toggle(active)
    else if (key === 'Enter') actions.open(entry)
    else if (key === 'Escape') selection.none()
    else if (key === 'F2') void actions.rename(entry)
    else if (key === 'Delete' || (key === 'Backspace' && command))
      void actions.delete(selected.length > 0 ? selected : [entry])
    else if (key === 'a' && command) selection.all()
    // No name has a slash: it leads to the search. A question mark shows the keys.
    else if (key.length === 1 && !'/?'.includes(key) && !command) search(key, event.timeStamp)
    else return false
    return true
  }
  const keyDown = (event: KeyboardEvent) => {
    if (!pressKey(event)) return
    event.preventDefault()
    show(selection.active.value)
  }
  const openActiveMenu = () => {
    const index = selection.active.value
    const entry = entries[index]
    show(index)
    const element = actions.rows.current?.querySelector<HTMLElement>(`#entry-${index} a`)
    if (entry && element) openMenu({ element, entry, index })
  }
  const click = (event: MouseEvent) => {
    const pressed = at(event.target)
    if (pressed === null || event.defaultPrevented) return
    const target = event.target as Element
    // The click on the box in it follows.
    if (target.matches('label')) return
    const link = target.closest('a')
    const { entry, index } = pressed
    if (link !== null) event.preventDefault()
    const more = target.closest('.more button')
    if (press.wasLong()) return
    if (more !== null) return openMenu({ ...pressed, element: more as HTMLElement })
    if (event.shiftKey) selection.upTo(index)
    else if (event.ctrlKey || event.metaKey || target.closest('.box') !== null) selection.toggle(index)
    else if (press.isTouch()) touch(entry, index)
    else {
      selection.only(index)
      if (link !== null) actions.open(entry)
    }
    actions.rows.current?.focus({ preventScroll: true })
  }
  /** A finger opens, as long as nothing is selected. */
  const touch = (entry: Entry, index: number) => {
    if (selection.entries.value.length > 0) return selection.toggle(index)
    selection.goTo(index)
    actions.open(entry)
  }
  const doubleClick = (event: MouseEvent) => {
    const pressed = at(event.target)
    const isControl = (event.target as Element).closest('.box, .more, a') !== null
    if (pressed !== null && !isControl && !press.isTouch()) actions.open(pressed.entry)
  }
  const contextMenu = (event: MouseEvent) => {
    event.preventDefault()
    if (press.isTouch() && press.wasLong()) return
    if (press.isTouch()) press.isTold()
    const place = { x: event.clientX, y: event.clientY }
    const pressed = at(event.target)
    if (pressed !== null) openMenu(pressed, place)
    else menu.ofFolder(place)
  }
  const dragStart = (event: DragEvent) => {
    const pressed = at(event.target)
    if (pressed === null) return
    if (!selection.has(pressed.entry)) selection.only(pressed.index)
    startEntryDrag(event, actions.selectedPaths())
  }
  const scroll = ({ currentTarget, timeStamp }: Event) => {
    parts.speed.scrolled((currentTarget as Element).scrollTop, timeStamp)
    measure()
  }
  const rowCount = Math.ceil(entries.length / inRow)
  const shown = Array.from({ length: Math.min(count, rowCount - first) }, (_, i) => first + i)
  return html`<div
    class=${`rows ${isGrid ? 'as-grid' : 'as-list'}`}
    role="grid"
    aria-label=${texts.files.list}
    aria-multiselectable="true"
    aria-rowcount=${isGrid ? rowCount : entries.length + 1}
    aria-colcount=${isGrid ? inRow : undefined}
    aria-activedescendant=${entries.length > 0 ? `entry-${selection.active.value}` : undefined}
    aria-busy=${!isListed}
    ref=${actions.rows}
    tabindex="0"
    onScroll=${scroll}
    onKeyDown=${keyDown}
    onClick=${click}
    onDblClick=${doubleClick}
    onContextMenu=${contextMenu}
    onDragStart=${dragStart}
    ...${press.listeners}
  >
    ${!isGrid && html`<${Headings} parts=${parts} />`}
    <div role="rowgroup" class="body" style=${{ height: `${rowCount * size.height}px` }}>
      ${shown.map((row) => {
        const top = row * size.height
        if (!isGrid)
          return html`<${EntryRow} key=${entries[row]?.name} entry=${entries[row]} index=${row} parts=${parts} top=${top} />`
        const from = row * inRow
        return html`<div key=${row} class="tile-row" role="row" aria-rowindex=${row + 1} style=${{ transform: `translateY(${top}px)`, gridTemplateColumns: `repeat(${inRow}, minmax(0, 1fr))` }}>
          ${entries.slice(from, from + inRow).map((entry, i) => html`<${EntryTile} key=${entry.name} entry=${entry} index=${from + i} parts=${parts} />`)}
        </div>`
      })}
    </div>
  </div>`
}

interface KeyPlace {
  readonly active: number
  readonly inRow: number
  /** The entries of the rows that can be seen. */
  readonly page: number
  readonly last: number
}

/** Returns the entry that a key leads to, or `undefined`. */
function stepOf(key: string, { active, inRow, page, last }: KeyPlace): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    // From the row above the last one, the last entry is below.
    ArrowDown:
      Math.floor(active / inRow) < Math.floor(last / inRow) ? Math.min(active + inRow, last) : active,
    ArrowUp: active >= inRow ? active - inRow : active,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: last,
    ...(inRow > 1 && { ArrowLeft: active - 1, ArrowRight: active + 1 }),
  }
  return steps[key]
}

/** The headings of the columns. A press sorts by one. */
function Headings({ parts: { folder, settings } }: Pick<EntryListProps, 'parts'>): VNode {
  const { selection } = folder
  const entries = folder.entries.value ?? []
  const isAll = entries.length > 0 && selection.entries.value.length === entries.length
  const { value: order } = settings.order
  const sort = (column: Column) => {
    settings.order.value = orderAfter(order, column)
  }
  const direction = order.isDescending ? 'descending' : 'ascending'
  return html`<div role="rowgroup" class="head">
    <div class="row" role="row" aria-rowindex="1">
      <span role="columnheader">
        <label class="box">
          <input
            type="checkbox"
            tabindex="-1"
            aria-label=${texts.files.selectAll}
            disabled=${entries.length === 0}
            checked=${isAll}
            onClick=${() => (isAll ? selection.none() : selection.all())}
          />
        </label>
      </span>
      ${columns.map(
        (
          column,
        ) => html`<span key=${column} role="columnheader" class=${column} aria-sort=${order.by === column ? direction : undefined}>
          <button type="button" class="quiet" onClick=${() => sort(column)}>
            ${texts.files.columns[column]}${order.by === column && icon(order.isDescending ? 'arrow-down' : 'arrow-up')}
          </button>
        </span>`,
      )}
      <span role="columnheader" class="more"><span class="unseen">${texts.files.actions}</span></span>
    </div>
  </div>`
}
