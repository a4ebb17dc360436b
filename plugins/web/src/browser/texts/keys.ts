export const keys = {
  title: 'Keys',
  list: [
    [['/'], 'Search'],
    [['?'], 'Show these keys'],
    [
      ['↑', '↓', 'Home', 'End', 'Page Up', 'Page Down'],
      'Select; with Shift up to there; with Ctrl only go there',
    ],
    [['Space'], 'Select this one too, or no longer'],
    [['Ctrl+A'], 'Select all'],
    [['Esc'], 'Select nothing'],
    [['a … z'], 'Go to a name'],
    [['Enter'], 'Open'],
    [['Alt+↑'], 'Open the folder above'],
    [['F2'], 'Rename'],
    [['Ctrl+C', 'Ctrl+X', 'Ctrl+V'], 'Copy, cut and paste, also a picture of another program'],
    [['Del'], 'Move to the trash'],
    [['Ctrl+Z'], 'Take back the last change'],
    [['Shift+F10'], 'Show what can be done'],
  ] satisfies readonly (readonly [readonly string[], string])[],
}
