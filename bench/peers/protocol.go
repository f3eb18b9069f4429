package peers

// command is a line to a worker; python/worker.py says what each does.
type command struct {
	Do      string            `json:"do"`
	Op      string            `json:"op,omitempty"`
	Inputs  map[string]string `json:"inputs,omitempty"`
	File    string            `json:"file,omitempty"`
	Mmap    bool              `json:"mmap"`
	Kind    string            `json:"kind,omitempty"`
	From    string            `json:"from,omitempty"`
	Path    string            `json:"path,omitempty"`
	Way     string            `json:"way,omitempty"`
	Columns []kind            `json:"columns,omitempty"`
	Order   int               `json:"order"`
	AtLeast float64           `json:"atleast"`
	Most    int               `json:"most"`
	Nth     int               `json:"nth"` // of the ways
}

// way is one of the ways in which an engine can do an operation.
type way struct {
	Name    string `json:"name"`
	Ordered bool   `json:"ordered"` // rows come in the order that the operation promises
}

// turn is what one turn of an engine took: the operation once or several times.
type turn struct {
	Seconds []float64 `json:"seconds"` // of each time
	CPU     float64   `json:"cpu"`     // seconds of processor time in all
	Wall    float64   `json:"wall"`    // seconds in all
}

// answer is a line from a worker. Which fields it has depends on the command.
type answer struct {
	Lacks string `json:"lacks"`
	Ways  []way  `json:"ways"`
	Fingerprint
	turn
}

// needAnswer is a line from a worker that measured what memory a way needs.
type needAnswer struct {
	Lacks string `json:"lacks,omitempty"`
	Way   string `json:"way"`
	Of    int    `json:"of"`   // how many ways there are
	Rows  int64  `json:"rows"` // of the result
	Need
}
