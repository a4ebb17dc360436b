/** Fields that take keys and pastes themselves. */
const fieldsForText = 'input:not([type="checkbox"]), textarea, select'

/** The elements over the page that have the keys: dialogs, menus and an open file. */
const overThePage = 'dialog[open], :popover-open, .viewer'

/** Whether a key or a paste is for the page itself, not for a field or for what is over the page. */
export function isForPage({ target }: Event): boolean {
  const isField = target instanceof Element && target.matches(fieldsForText)
  return !isField && document.querySelector(overThePage) === null
}
