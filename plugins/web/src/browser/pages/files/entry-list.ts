import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { narrow, useMedia } from '../../media.ts'
import * as texts from '../../texts.ts'
import { startEntryDrag } from './entry-drag.ts'
import { type Column, columns, orderAfter } from './entry-order.ts'
import type { EntryParts } from './entry-parts.ts'
import { EntryRow } from './entry-row.ts'
import { EntryTile } from './entry-tile.ts'
import { useListKeys } from './list-keys.ts'
import type { ListMenu } from './list-menu.ts'
import type { Entry } from './listing.ts'
import { type PressedEntry, useLongPress } from './long-press.ts'
import { rowSizes, useVisibleRows } from './visible-rows.ts'

interface EntryListProps {
  readonly parts: EntryParts
  readonly menu: ListMenu
}

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
  const size = isGrid ? rowSizes.grid : isNarrow ? rowSizes.narrowList : rowSizes.list
  const { first, count, inRow, measure, show, page } = useVisibleRows(actions.rows, size)
  const selectByKey = useListKeys({ entries, selection, nameOf: ({ name }) => name, inRow, page })
  // A folder begins at its top, or where the person was in it.
  useLayoutEffect(() => {
    actions.rows.current?.scrollTo(0, 0)
    if (isListed) show(selection.active.peek())
  }, [folder.path.value, isListed, isGrid])
  useLayoutEffect(() => {
    if (isListed) show(selection.active.peek())
  }, [selection.arrivals.value])

  const at = (target: EventTarget | null): PressedEntry<Entry> | null => {
    const element = (target as Element).closest<HTMLElement>('[data-index]')
    const index = Number(element?.dataset.index)
    const entry = entries[index]
    return element === null || entry === undefined ? null : { element, entry, index }
  }
  const openMenu = ({ element, entry, index }: PressedEntry<Entry>, place?: { x: number; y: number }) => {
    const at = place ?? element
    if (selection.has(entry)) return menu.ofSelection(at)
    // With a selection, the next tap of a finger would select instead of open.
    if (press.isTouch()) {
      selection.goTo(index)
      return menu.ofEntry(entry, at)
    }
    selection.only(index)
    menu.ofSelection(at)
  }
  const press = useLongPress(at, openMenu)

  const pressKey = (event: KeyboardEvent): boolean => {
    const { key, shiftKey, altKey } = event
    const command = event.ctrlKey || event.metaKey
    const { value: selected } = selection.entries
    const entry = entries[selection.active.value]
    if (altKey && key === 'ArrowUp') actions.openParent()
    else if (altKey) return false
    else if (key === 'z' && command && !shiftKey) void actions.undo()
    else if (entry === undefined) return false
    else if (key === 'ContextMenu' || (key === 'F10' && shiftKey)) openActiveMenu()
    else if (key === 'Enter') actions.open(entry)
    else if (key === 'F2') void actions.rename(entry)
    else if (key === 'Delete' || (key === 'Backspace' && command))
      void actions.delete(selected.length > 0 ? selected : [entry])
    else return selectByKey(event)
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
