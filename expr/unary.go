package expr

// Neg is -e.
func (e *Expr) Neg() *Expr { return call(OpNeg, e) }

// Abs is the absolute value.
func (e *Expr) Abs() *Expr { return call(OpAbs, e) }

// Sign is -1, 0 or 1.
func (e *Expr) Sign() *Expr { return call(OpSign, e) }

// Sqrt is the square root; of integers as float64.
func (e *Expr) Sqrt() *Expr { return call(OpSqrt, e) }

// Exp is e to that power; of integers as float64.
func (e *Expr) Exp() *Expr { return call(OpExp, e) }

// Ln is the natural logarithm; of integers as float64.
func (e *Expr) Ln() *Expr { return call(OpLn, e) }

// Floor rounds down.
func (e *Expr) Floor() *Expr { return call(OpFloor, e) }

// Ceil rounds up.
func (e *Expr) Ceil() *Expr { return call(OpCeil, e) }

// Trunc rounds towards zero.
func (e *Expr) Trunc() *Expr { return call(OpTrunc, e) }

// Round rounds to the nearest whole number, halves away from zero.
func (e *Expr) Round() *Expr { return call(OpRound, e) }

// Year is the year of a date or timestamp, as are the others int64, in UTC or
// in the timestamp's own zone.
func (e *Expr) Year() *Expr { return call(OpYear, e) }

// Month is the month, from 1.
func (e *Expr) Month() *Expr { return call(OpMonth, e) }

// Day is the day of the month, from 1.
func (e *Expr) Day() *Expr { return call(OpDay, e) }

// Hour is the hour of a timestamp or time.
func (e *Expr) Hour() *Expr { return call(OpHour, e) }

// Minute is the minute.
func (e *Expr) Minute() *Expr { return call(OpMinute, e) }

// Second is the second.
func (e *Expr) Second() *Expr { return call(OpSecond, e) }

// DayOfWeek is the day of the week; Monday is 0.
func (e *Expr) DayOfWeek() *Expr { return call(OpDayOfWeek, e) }

// DayOfYear is the day of the year, from 1.
func (e *Expr) DayOfYear() *Expr { return call(OpDayOfYear, e) }
